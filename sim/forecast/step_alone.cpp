#include "stepcast/sim/forecast/step_alone.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/fleet_pace.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {
namespace {

/// A step of which nothing shares a link: one class for each stage (map_without_contention()).
struct LoneStepInput {
  const std::vector<StageProgram>& programs;  ///< [stage]
  const NetworkMap& network;
  PipelineShape shape;
  const std::vector<StageOrder>& orders;  ///< [stage]
  ScheduleSpec::PointToPoint p2p = ScheduleSpec::PointToPoint::overlapped;
  double slowing = 1;  ///< factor on device times
};

constexpr double unknown = -std::numeric_limits<double>::infinity();
/// The replay adds the same durations in another order.
constexpr double reordering = 1e-9;
constexpr auto data_stream = static_cast<std::size_t>(Stream::data);

/// Collectives of all stages in the epilogue, by number: what is known of their start.
struct Meetings {
  std::vector<double> known, asked;
};

/// The device of one stage and its streams, whose host keeps ahead. Dates are never above those of
/// the replay.
class LoneStage {
 public:
  LoneStage(const LoneStepInput& input, std::uint32_t stage)
      : program_{input.programs[stage]},
        network_{input.network},
        call_of_{network_.call_of[stage]},
        stages_{input.programs.size()},
        slowing_{input.slowing},
        slots_(program_.slots, unknown),
        again_(program_.slots, false),
        codes_per_chunk_{unit_codes + program_.chunk_count()},
        lasting_(program_.chunks.size() * codes_per_chunk_),
        forwards_(program_.chunk_count(), 0),
        gradients_(program_.chunk_count(), 0) {
    // Nothing has run yet on any stream.
    free_.fill(unknown);
  }

  double device() const { return device_; }
  void wait(double until) { device_ = std::max(device_, until); }

  /// Slots that a counted code has set since hold what nobody knows.
  void run(const Instructions& code, Meetings* meetings = nullptr) {
    // A slot of code that was only counted may hold any date: unknown never delays.
    for (std::size_t slot = 0; slot < slots_.size(); ++slot)
      if (again_[slot]) slots_[slot] = unknown;
    std::size_t met = 0;
    for (const Instruction& instruction : code) {
      if (const auto* compute = std::get_if<Compute>(&instruction)) {
        device_ += slowing_ * program_.segments[compute->segment].device_time();
      } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
        slots_[start->slot] = begin(*start, device_, free_, meetings, met);
      } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
        device_ = std::max(device_, slots_[wait->slot]);
      }
    }
  }

  /// The unit, or both units of a pair; `last`: so many gradients make the last of a chunk.
  /// As Replayer::pair_code has it: the first forward, the last backward and what is not paired run
  /// one after the other.
  void run_units(const Unit* unit, std::uint32_t last) {
    const std::size_t units = unit->with_next ? 2 : 1;
    std::array<bool, 2> first{}, final{};
    // First and last are known only in the order of the stage.
    for (std::size_t i = 0; i < units; ++i) {
      const std::uint32_t chunk = unit[i].chunk.value;
      if (unit[i].kind == UnitKind::forward) first[i] = ++forwards_[chunk] == 1;
      if (unit[i].kind == UnitKind::backward || unit[i].kind == UnitKind::backward_weight)
        final[i] = ++gradients_[chunk] == last;
    }
    const auto& paired = program_.of(unit->chunk, unit->slice).paired;
    if (units == 2 && !paired.empty() && !first[0] && !final[1])
      return run_again(paired[unit[1].chunk.value], cell(*unit, unit_codes + unit[1].chunk.value));
    for (std::size_t i = 0; i < units; ++i) run_unit(unit[i], first[i], final[i]);
  }

 private:
  /// What a code adds that many units share, from a free device with free streams.
  struct Lasting {
    double device = -1;  ///< below 0: not known yet
    double data = 0;     ///< collectives of the data stream
    double data_end = unknown;
  };
  static constexpr std::size_t unit_codes = 4;

  bool meets_all(const StageCall& own, const NetworkCall& call) const {
    // Only groups over all stages are known to wait for each of them.
    const GroupKindInfo group = info(own.group);
    return call.arrivals > 1 && call.arrivals == stages_ && group.form == GroupForm::grid &&
           group.over.pp;
  }

  /// The end of the collective. One that does not wait for the compute stream may have been issued
  /// long before.
  double begin(const Communicate& instruction, double device, std::array<double, streams>& free,
               Meetings* meetings, std::size_t& met) const {
    const NetworkCall& call = network_.calls[call_of_[instruction.call]];
    const StageCall& own = program_.calls[instruction.call];
    double& stream = free[static_cast<std::size_t>(own.stream)];
    // What does not follow the compute stream may begin as soon as its stream is free.
    double start = std::max(stream, instruction.after_compute ? device : unknown);
    // Meetings of the epilogue: by number, since all stages call alike.
    if (meetings != nullptr && meets_all(own, call)) {
      if (met == meetings->asked.size()) meetings->asked.push_back(unknown);
      if (met < meetings->known.size()) start = std::max(start, meetings->known[met]);
      meetings->asked[met] = std::max(meetings->asked[met], start);
      ++met;
    }
    return stream = start + (own.over_host_link() ? own.host_link.value() : call.alone);
  }

  Lasting lasting(const Instructions& code) {
    std::array<double, streams> free{};
    // From free streams: what a unit waits for inside itself, it waits for each time.
    free.fill(unknown);
    std::vector<double> slots(slots_.size(), unknown);
    Lasting result{.device = 0};
    std::size_t none = 0;
    for (const Instruction& instruction : code) {
      if (const auto* compute = std::get_if<Compute>(&instruction)) {
        result.device += slowing_ * program_.segments[compute->segment].device_time();
      } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
        slots[start->slot] = begin(*start, result.device, free, nullptr, none);
        again_[start->slot] = true;
        // The data stream is the only one that works on behind the unit.
        if (program_.calls[start->call].stream == Stream::data)
          result.data += network_.calls[call_of_[start->call]].alone;
      } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
        result.device = std::max(result.device, slots[wait->slot]);
      }
    }
    result.data_end = free[data_stream];
    return result;
  }

  /// The data stream works on behind the unit, so that it keeps what it has not done yet.
  void run_again(const Instructions& code, std::size_t cell) {
    Lasting& known = lasting_[cell];
    if (known.device < 0) known = lasting(code);
    // Behind what the stream has not done yet, or where this unit alone would put it.
    free_[data_stream] = std::max(free_[data_stream] + known.data, device_ + known.data_end);
    device_ += known.device;
  }

  void run_unit(const Unit& unit, bool first, bool last) {
    const ChunkProgram& chunk = program_.of(unit.chunk, unit.slice);
    // The first forward of a chunk and its last weight gradient do work that the others do not,
    // such as gathering weights and giving gradients away. They have code of their own and no known
    // time to reuse.
    switch (unit.kind) {
      case UnitKind::forward:
        return first ? run(chunk.first_forward) : run_again(chunk.forward, cell(unit, 0));
      case UnitKind::backward_input:
        return run_again(chunk.backward_input, cell(unit, 1));
      case UnitKind::backward_weight:
        return last ? run(chunk.last_backward_weight)
                    : run_again(chunk.backward_weight, cell(unit, 2));
      case UnitKind::backward:
        break;
    }
    return last ? run(chunk.last_backward) : run_again(chunk.backward, cell(unit, 3));
  }

  std::size_t cell(const Unit& unit, std::size_t code) const {
    return (unit.chunk.value * program_.slices + unit.slice.value) * codes_per_chunk_ + code;
  }

  const StageProgram& program_;
  const NetworkMap& network_;
  const std::vector<std::uint32_t>& call_of_;
  std::size_t stages_;
  double slowing_;
  double device_ = 0;
  std::array<double, streams> free_{};
  std::vector<double> slots_;
  std::vector<bool> again_;  ///< slots that codes set which are not run each time
  std::size_t codes_per_chunk_;
  std::vector<Lasting> lasting_;  ///< [chunk, slice, code]
  std::vector<std::uint32_t> forwards_, gradients_;
};

/// All stages, which wait for each other's messages.
class LonePipeline {
 public:
  explicit LonePipeline(const LoneStepInput& input)
      : input_{input},
        gradients_per_chunk_{
            static_cast<std::uint32_t>(micro_batches_per_chunk(input.shape) * input.shape.slices)},
        place_(input.orders.size(), 0) {
    const auto stages = static_cast<std::uint32_t>(input.programs.size());
    // Outputs and gradients of every chunk have a place each.
    const std::int64_t each = 2 * input.shape.chunks * gradients_per_chunk_;
    arrivals_.assign(stages, std::vector<double>(static_cast<std::size_t>(each), unknown));
    channel_free_.assign(stages, {});
    for (std::uint32_t s = 0; s < stages; ++s)
      stages_.emplace_back(input, s).run(input.programs[s].prologue);
  }

  double run() {
    for (auto s = static_cast<std::uint32_t>(stages_.size()); s-- > 0;) awake_.push_back(s);
    while (!awake_.empty()) {
      const std::uint32_t stage = awake_.back();
      awake_.pop_back();
      advance(stage);
    }
    // A bound must not exceed the replay by rounding.
    return end() * (1 - reordering);
  }

 private:
  std::size_t message(const Unit& unit, std::uint32_t chunk) const {
    // Outputs first, then gradients, by chunk, micro-batch and slice.
    const std::size_t row =
        (unit.kind == UnitKind::forward ? 0 : static_cast<std::size_t>(input_.shape.chunks)) +
        chunk;
    return row * gradients_per_chunk_ +
           unit.micro_batch.value * static_cast<std::size_t>(input_.shape.slices) +
           unit.slice.value;
  }

  /// A unit whose input is there may wait for it more than once, which changes nothing. Both
  /// outputs of a pair are sent before a blocking transfer is waited for, as Replayer::run_unit has
  /// it.
  void advance(std::uint32_t stage) {
    const StageOrder& order = input_.orders[stage];
    std::size_t& place = place_[stage];
    while (place < order.size()) {
      const Unit* unit = &order[place];
      const std::size_t units = unit->with_next ? 2 : 1;
      for (std::size_t i = 0; i < units; ++i)
        if (!receive(stage, unit[i])) return;
      stages_[stage].run_units(unit, gradients_per_chunk_);
      double sent = unknown;
      for (std::size_t i = 0; i < units; ++i) sent = std::max(sent, send(stage, unit[i]));
      if (input_.p2p == ScheduleSpec::PointToPoint::blocking) stages_[stage].wait(sent);
      place += units;
    }
  }

  /// False: the message is not sent yet.
  bool receive(std::uint32_t stage, const Unit& unit) {
    const auto source = source_of(input_.shape, unit, Stage{stage});
    if (!source || source->stage.value == stage) return true;
    const double arrival = arrivals_[stage][message(unit, unit.chunk.value)];
    if (arrival == unknown) return false;
    stages_[stage].wait(arrival);
    return true;
  }

  /// When the message arrives; nothing is known of a unit that sends none.
  double send(std::uint32_t stage, const Unit& unit) {
    const auto reader = reader_of(input_.shape, unit, Stage{stage});
    if (!reader || reader->stage.value == stage) return unknown;
    const Channel channel =
        channel_of(input_.shape.placement, unit.chunk, unit.kind == UnitKind::forward);
    const NetworkFlow& flow = input_.network.hop(channel, stage).flow;
    double& free = channel_free_[stage][static_cast<std::size_t>(channel)];
    // The channel is free when the bytes are through; the message arrives later.
    free = std::max(free, stages_[stage].device()) + flow.alone;
    const double arrival = free + flow.latency;
    arrivals_[reader->stage.value][message(unit, reader->chunk.value)] = arrival;
    awake_.push_back(reader->stage.value);
    return arrival;
  }

  /// Collectives of all stages begin when the last has come: each round tells one more of them.
  double end() const {
    Meetings meetings;
    double latest = 0;
    do {
      meetings.known = std::exchange(meetings.asked, {});
      latest = 0;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        // A copy, since every round begins from the same state.
        LoneStage stage = stages_[s];
        stage.run(input_.programs[s].epilogue, &meetings);
        latest = std::max(latest, stage.device());
      }
    } while (meetings.asked != meetings.known);
    return latest;
  }

  const LoneStepInput& input_;
  std::uint32_t gradients_per_chunk_;
  std::vector<LoneStage> stages_;
  std::vector<std::size_t> place_;                          ///< [stage] next unit of its order
  std::vector<std::vector<double>> arrivals_;               ///< [stage][message]
  std::vector<std::array<double, channels>> channel_free_;  ///< [stage]
  std::vector<std::uint32_t> awake_;
};

/// No replay of the step is shorter [s]. Every unit takes what its code takes on a free device
/// whose host keeps ahead, and waits for its inputs; each kind of unit is run once and then
/// counted. The first forwards, the last backwards and what stands around the units are run with
/// the streams as they are then (docs/models/plan.md).
double unit_bound(const LoneStepInput& input) { return LonePipeline(input).run(); }

}  // namespace

LoneStep::LoneStep(const Scenario& scenario, CollectiveTimes& times, LonePace pace)
    : scenario_{scenario},
      programs_{stage_programs(scenario, layers_of(scenario))},
      orders_{scenario.orders()} {
  const Placement placement(scenario.workload.plan);
  network_ = map_without_contention(placement, programs_, times);
  if (pace == LonePace::even) return;
  stalls_.ranks = placement.world();
  stalls_.spec.host_sync = scenario.stalls.host_sync;
  if (!counts_fleet(scenario)) return;
  const SpeedFactors mean =
      fleet_pace(*scenario.cluster.fleet, placement, programs_, scenario.pipeline_shape(), stalls_,
                 scenario.cluster.node_devices)
          .mean;
  // A forecast counts no fleet that makes a step shorter.
  stalls_.speed.assign(stalls_.ranks, {std::max(mean.device, 1.0), std::max(mean.host, 1.0)});
}

Seconds LoneStep::bound() const {
  return Seconds{unit_bound({.programs = programs_,
                             .network = network_,
                             .shape = scenario_.pipeline_shape(),
                             .orders = orders_,
                             .p2p = scenario_.schedule.p2p,
                             .slowing = stalls_.speed_of(Rank{0}).device})};
}

Seconds LoneStep::replayed() const {
  // No recording and no other steps: a lone step is asked for its time only, thousands of times in
  // a plan.
  return replay({.programs = programs_,
                 .network = network_,
                 .host = scenario_.cluster.host,
                 .shape = scenario_.pipeline_shape(),
                 .orders = orders_,
                 .p2p = scenario_.schedule.p2p,
                 .stalls = stalls_.any() ? &stalls_ : nullptr})
      .step_time;
}

Seconds step_alone(const Scenario& scenario, CollectiveTimes& times) {
  return LoneStep(scenario, times).replayed();
}

}  // namespace stepcast
