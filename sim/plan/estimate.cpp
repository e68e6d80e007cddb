#include "estimate.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/workloads/buckets.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

/// The busiest stage has at least the mean, so that no layout has to be known.
double family_bound(const Scenario& scenario, const LayerCosts& costs, UnitForm form) {
  // All pieces of the model, whatever stage they are on.
  const PieceCounts counts = model_pieces(scenario.workload.model);
  const auto part = [&](double PieceCost::*what) { return costs.part(counts, what); };
  const auto stages = static_cast<double>(scenario.workload.plan.pp);
  const auto micro_batches = static_cast<double>(scenario.micro_batches());
  const double whole = costs.device(counts);
  // Of pairs only the compute stream is serial.
  if (form == UnitForm::paired) return micro_batches * costs.compute(counts) / stages;
  // A first micro-batch passes every layer twice, whoever holds it.
  if (form == UnitForm::plain)
    return std::max(micro_batches * whole / stages,
                    part(&PieceCost::entry_forward) + part(&PieceCost::entry_backward));
  // A split backward ends with weight gradients that may fill what would be idle.
  const double split =
      part(&PieceCost::forward) + part(&PieceCost::input) + part(&PieceCost::weight);
  return micro_batches * std::min(whole, split) / stages;
}

/// Groups of parameters do not depend on vpp, schedule or zero, so that their times are shared by
/// the family.
FamilyNetwork::FamilyNetwork(const Scenario& scenario, const LayerCosts& costs,
                             CollectiveTimes& times)
    : times_{times},
      gradient_{gradient_bytes(scenario.workload.communication)},
      gathered_{least_weight_bytes(scenario.workload.communication)} {
  const Placement placement(scenario.workload.plan);
  dense_ = times.members(placement, GroupKind::dense_data, Rank{0});
  expert_ = times.members(placement, GroupKind::expert_data, Rank{0});
  mirror_ = times.members(placement, GroupKind::mirror, Rank{0});
  // Between neighbours: the first two stages stand for all.
  if (scenario.workload.plan.pp > 1) {
    const auto hop =
        times.hop(placement.first_of(Stage{0}), placement.first_of(Stage{1}), costs.boundary);
    hop_ = hop.latency + hop.alone;
  }
  // With zero 3 each piece gathers and reduces by itself.
  for (std::size_t k = 0; k < plan_pieces; ++k) {
    const PieceCost& piece = costs.pieces[k];
    pieces_[k] = {gather(piece.dense, piece.expert), reduce(piece.dense, piece.expert)};
  }
}

/// Dense and expert parameters go over the same stream, one behind the other.
double FamilyNetwork::moved(CollectiveKind kind, double bytes_each, double dense, double expert) {
  return times_.about(dense_, {kind, Bytes{bytes_each * dense}}) +
         times_.about(expert_, {kind, Bytes{bytes_each * expert}});
}

/// An all-reduce counts as two of these, which spares a table of its own.
double FamilyNetwork::reduce(double dense, double expert) {
  return moved(CollectiveKind::reduce_scatter, gradient_, dense, expert);
}

double FamilyNetwork::gather(double dense, double expert) {
  return moved(CollectiveKind::all_gather, gathered_, dense, expert);
}

double FamilyNetwork::mirror(double parameters) {
  return times_.about(mirror_, {CollectiveKind::all_reduce, Bytes{gradient_ * parameters}});
}

/// What schedules and zero do not change is added up once for all of them.
LayoutEstimate::LayoutEstimate(const EstimateInput& input, const PlanLayout& layout)
    : input_{input},
      layout_{layout},
      micro_batches_{static_cast<double>(input.scenario.micro_batches()) /
                     static_cast<double>(input.scenario.workload.plan.chunk_map().copies())} {
  for (const StageLayout& stage : layout.kinds)
    moved_.push_back({.reduce = input.network.reduce(stage.dense, stage.expert),
                      .gather = input.network.gather(stage.dense, stage.expert),
                      .gathered_units = gathered_units(stage),
                      .forward = sum_of(stage.forward),
                      .backward = sum_of(stage.backward)});
  const ParallelPlan& plan = input.scenario.workload.plan;
  // The update of all parameters, and of a shard of them over the data ranks.
  whole_step_ = longest_step(1, 1);
  sharded_step_ =
      longest_step(static_cast<double>(plan.dp * plan.cp), static_cast<double>(plan.edp()));
  for (const std::size_t kind : layout.kind_of) {
    const StageLayout& stage = layout.kinds[kind];
    // A micro-batch through the first chunks of all stages.
    pass_ += stage.forward.front() + stage.backward.front();
    mean_ += unit(kind, UnitForm::plain) / static_cast<double>(layout.stages());
  }
}

/// A step ends with the slowest update.
double LayoutEstimate::longest_step(double dense_ranks, double expert_ranks) const {
  double longest = 0;
  for (const StageLayout& stage : layout_.kinds) {
    // A rank's dense and expert parts are updated in one go.
    const Operator step =
        optimizer_step(stage.dense / dense_ranks + stage.expert / expert_ranks,
                       input_.scenario.workload.runtime, input_.scenario.workload.training);
    longest = std::max(longest, operator_time(step, input_.scenario.cluster.device, false).value());
  }
  return longest;
}

/// Of a split backward the lesser form counts, because a bound must hold however the units are
/// ordered.
double LayoutEstimate::serial(const StageLayout& stage, UnitForm form) const {
  if (form == UnitForm::paired) return stage.compute;
  return form == UnitForm::split ? std::min(stage.unit, stage.split_unit) : stage.unit;
}

/// Before a stage has its first micro-batch, a slice passes the first chunk of every stage before
/// it; after its last backward the gradient passes them back, unless weight gradients come last.
double LayoutEstimate::bound(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = unit_form(schedule, input_.scenario);
  // Two directions enter at both ends, so that no stage waits for all others.
  const bool one_entry = schedule.placement != ChunkPlacement::bidirectional;
  double busiest = 0, before = 0, whole = 0;
  for (const std::size_t kind : layout_.kind_of) {
    const StageLayout& stage = layout_.kinds[kind];
    // Before the stage works, its input passes those before it; then it works serially.
    busiest = std::max(busiest, before + micro_batches_ * serial(stage, form));
    if (form != UnitForm::paired && one_entry) before += stage.entry_forward;
    // Only whole backwards end with a gradient that has to pass back.
    if (form == UnitForm::plain) before += stage.entry_backward;
    if (form == UnitForm::plain) whole += stage.entry;
  }
  // The gradient norm lets nobody update before all are done.
  const bool meets_all = input_.scenario.workload.plan.world() > 1;
  const bool there = input_.scenario.workload.training.offload_update ==
                     TrainingSpec::OffloadUpdate::host;  // of which the device sees nothing
  return std::max(busiest, whole) + (meets_all && !there ? optimizer(zero) : 0);
}

namespace {

/// Of a part of the states; none where they live in memory.
struct DriveTimes {
  double read = 0, write = 0;
};

DriveTimes drive_times(Bytes part, const TrainingSpec& training, const HostSpec& host) {
  // Memory needs no drive.
  if (training.offload_store == TrainingSpec::OffloadStore::memory) return {};
  return {(part / host.storage_read_bandwidth()).value(),
          (part / host.storage_write_bandwidth()).value()};
}

}  // namespace

/// Part by part over the host link: one in, the longest of each round, one out
/// (docs/models/offload.md).
double LayoutEstimate::offloaded_optimizer(std::int64_t zero) const {
  const Scenario& s = input_.scenario;
  const ParallelPlan& plan = s.workload.plan;
  const auto dense_ranks = static_cast<double>(plan.dp * plan.cp);
  const auto expert_ranks = static_cast<double>(plan.edp());
  const double work = optimizer(zero) / optimizer_parts;
  double parameters = 0;
  // The fullest stage has most to move.
  for (const StageLayout& stage : layout_.kinds)
    parameters =
        std::max(parameters, stage.dense / shards(zero, Shards::optimizer, dense_ranks) +
                                 stage.expert / shards(zero, Shards::optimizer, expert_ranks));
  const HostSpec& host = s.cluster.host;
  const TrainingSpec& training = s.workload.training;
  // The states are moved part by part, so that one is under way while another is updated.
  const Bytes part{optimizer_state_bytes(training) * parameters / optimizer_parts};
  const DriveTimes drives = drive_times(part, training, host);
  const BytesPerSecond link = host.offload_bandwidth();
  // The host updates: gradients of owned parameters go to it, states stay there.
  if (training.offload_update == TrainingSpec::OffloadUpdate::host) {
    const double owned = parameters / optimizer_parts;
    const double there = host_update_time(owned, s.workload.runtime, training, host).value();
    const Bytes gradients{gradient_bytes(s.workload.communication) * owned};
    const double told = (host.device_link_latency + gradients / link).value();
    // Rounds are as long as their longest part; the first fills and the last drains.
    const double longest = std::max({told, there, drives.read, drives.write});
    return std::max(told, drives.read) + there + drives.write + (optimizer_parts - 1) * longest;
  }
  // The device updates: states come in and go out over the link, or the drives.
  const double moved = (host.device_link_latency + part / link).value();
  const double in = std::max(moved, drives.read), out = std::max(moved, drives.write);
  return in + work + out + (optimizer_parts - 1) * std::max({in, work, out});
}

/// Experts that live on the host are updated from there, whatever part of the others is.
double LayoutEstimate::away(std::int64_t zero) const {
  const TrainingSpec& training = input_.scenario.workload.training;
  // Without experts on the host the part is the file's.
  const double part = training.offload_optimizer ? training.offload_optimizer_part : 0;
  if (!training.offload_experts) return part;
  const ParallelPlan& plan = input_.scenario.workload.plan;
  const auto dense_ranks = static_cast<double>(plan.dp * plan.cp);
  const auto expert_ranks = static_cast<double>(plan.edp());
  double most = 0, there = 0;
  for (const StageLayout& stage : layout_.kinds) {
    const double dense = stage.dense / shards(zero, Shards::optimizer, dense_ranks);
    const double expert = stage.expert / shards(zero, Shards::optimizer, expert_ranks);
    if (dense + expert <= most) continue;
    // Of the fullest stage, which sets the pace: experts wholly, others by the part.
    most = dense + expert;
    there = part * dense + expert;
  }
  return most > 0 ? there / most : part;
}

/// Of the gradients that two directions update together.
double LayoutEstimate::between_directions(std::int64_t zero) const {
  const ParallelPlan& plan = input_.scenario.workload.plan;
  if (plan.chunk_map().copies() == 1 || plan.pp == 1) return 0;
  const StageLayout& stage = layout_.stage(0);
  // Stage 0 stands for all: two stages hold the same layers.
  const double own = stage.dense / (zero == 0 ? 1 : static_cast<double>(plan.dp * plan.cp)) +
                     stage.expert / (zero == 0 ? 1 : static_cast<double>(plan.edp()));
  return input_.network.mirror(own);
}

/// Sharded gradients are reduced in every micro-batch, which the programs do not run inside a pair.
UnitForm LayoutEstimate::form_of(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = unit_form(schedule, input_.scenario);
  return form == UnitForm::paired && zero > 1 ? UnitForm::plain : form;
}

/// What is fetched from the host hides behind a whole micro-batch, but for the first layers of a
/// backward.
double LayoutEstimate::unit(std::size_t kind, UnitForm form) const {
  const StageLayout& stage = layout_.kinds[kind];
  double time = moved_[kind].forward + moved_[kind].backward;
  if (form == UnitForm::split) time += std::max(stage.split_unit - stage.unit, 0.0);
  if (form == UnitForm::paired) time += stage.pair - stage.unit;
  // Fetches need the host link all the time; the first layers of a backward wait for theirs.
  return std::max(time + stage.first_fetches, stage.fetched);
}

double LayoutEstimate::contention(const StageLayout& stage, double unit, double moved) const {
  const ParallelPlan& plan = input_.scenario.workload.plan;
  const std::int64_t node = input_.scenario.cluster.node_devices;
  // Groups inside a node share its links with context groups alone.
  const double shared = stage.near + (plan.stage_ranks() > node ? stage.wide : 0);
  // A part of the unit moves over shared links: so much of what is moved meets it.
  return unit > 0 ? std::min(moved, unit) * std::min(shared / unit, 1.0) : 0;
}

double LayoutEstimate::gathered_units(const StageLayout& stage) const {
  const bool queued =
      input_.scenario.workload.runtime.start_order == RuntimeSpec::StartOrder::as_issued;
  double time = 0;
  for (const PieceCounts& counts : stage.pieces) {
    // The first gather of a unit has nothing to hide behind.
    double first = 0;
    for (std::size_t k = 0; k < plan_pieces; ++k) {
      if (counts[k] == 0) continue;
      const PieceCost& piece = input_.costs.pieces[k];
      const auto [gather, reduce] = input_.network.pieces()[k];
      // the next gather is issued behind a reduction, which then hides behind nothing
      const double backward = queued ? std::max(piece.backward, gather) + reduce
                                     : std::max(piece.backward, gather + reduce);
      time += counts[k] * (std::max(piece.forward, gather) + backward);
      first = std::max(first, gather);
    }
    // Once before the forwards and once before the backwards of a chunk.
    time += 2 * first;
  }
  return time;
}

/// `forwards_apart`: the schedule has no backward between its forwards that could be reduced.
double LayoutEstimate::paced(std::size_t kind, std::int64_t zero, UnitForm form,
                             bool forwards_apart) const {
  const Moved& of = moved_[kind];
  const double unit = this->unit(kind, form);
  // With zero 0 and 1 gradients move once per step, not in every micro-batch.
  if (zero < 2) return unit;
  // Gradients are reduced; with zero 3 parameters are gathered for both passes.
  const double moved = of.reduce + (zero == 3 ? 2 * of.gather : 0);
  // Without overlap all of it is seen.
  if (!input_.scenario.workload.communication.gradient_overlap) return unit + moved;
  const StageLayout& stage = layout_.kinds[kind];
  const double stalled = unit + this->stalled(stage, moved, of.backward);
  // Forwards that stand apart have no backward beside them that would reduce.
  const double busy = zero == 3        ? std::max(unit, of.gathered_units)
                      : forwards_apart ? of.forward + std::max(stalled - of.forward, moved)
                                       : std::max(stalled, moved);
  return busy + contention(stage, unit, moved);
}

/// Transfers that the pipeline waits for, as docs/models/pipeline.md has them for equal stages.
double LayoutEstimate::transfers(const PipelineSchedule& schedule) const {
  const auto p = static_cast<double>(layout_.stages());
  const double m = micro_batches_;
  // One stage sends nothing.
  if (p <= 1) return 0;
  const auto v = static_cast<double>(layout_.kinds.front().forward.size());
  const double hop = input_.network.hop();
  // 1F1B waits for every micro-batch; interleaved schedules and gpipe for the way there and back.
  if (schedule.turns == Turns::alternating && m >= 2)
    return (2 * (m + p - 3) - 2 * std::floor((m - 2) / p)) * hop;
  return 2 * (v * p - 1) * hop;
}

/// The busiest stage, and the idle time of the schedule with the mean stage's units.
double LayoutEstimate::scheduled(const PipelineSchedule& schedule, std::int64_t zero) const {
  const Scenario& scenario = input_.scenario;
  const bool fb_pair = scenario.workload.moe.overlap == MoeSpec::Overlap::fb_pair;
  const IdleTable::Idle idle = input_.idle.of(schedule, scenario.pipeline_shape(), fb_pair);
  const UnitForm form = form_of(schedule, zero);
  // Units outside pairs run one after the other.
  const double alone =
      form == UnitForm::paired ? std::min(idle.unpaired, micro_batches_) : micro_batches_;
  const UnitForm others = form == UnitForm::paired ? UnitForm::plain : form;
  double longest = 0;
  for (std::size_t k = 0; k < layout_.kinds.size(); ++k) {
    const double paired =
        alone < micro_batches_ ? (micro_batches_ - alone) * paced(k, zero, form, false) : 0;
    longest = std::max(longest, paired + alone * paced(k, zero, others, false));
  }
  const double copies = static_cast<double>(scenario.workload.plan.chunk_map().copies());
  return longest + idle.stages * mean_ / copies;
}

/// The busiest stage, and around it one micro-batch through the first chunks of the others.
double LayoutEstimate::pipeline(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = form_of(schedule, zero);
  // The closed form is known of whole backwards without slices, in these turns.
  const bool known =
      form == UnitForm::plain && schedule.turns != Turns::other && schedule.slices == CountRange{};
  if (!known) return scheduled(schedule, zero);
  const bool apart = schedule.turns == Turns::apart;
  double longest = 0;
  for (std::size_t k = 0; k < layout_.kinds.size(); ++k) {
    const StageLayout& stage = layout_.kinds[k];
    // Others: one micro-batch through the first chunks of all other stages.
    const double others = pass_ - stage.forward.front() - stage.backward.front();
    longest = std::max(longest, others + micro_batches_ * paced(k, zero, form, apart));
  }
  return longest;
}

/// What one bucket is of them all, as if every chunk had buckets.
double LayoutEstimate::bucket(const StageLayout& stage) const {
  const WorkloadSpec& spec = input_.scenario.workload;
  const double cut = stage.dense / bucket_elements(spec, GroupKind::dense_data) +
                     stage.expert / bucket_elements(spec, GroupKind::expert_data);
  // A chunk has at least one bucket.
  return 1 / std::max(static_cast<double>(stage.forward.size()), cut);
}

/// Chunks begin, and end, a round of stages apart, which hides what each moves; of one in buckets
/// its own pass does, too. `moved` is of all chunks, which have a part each.
double LayoutEstimate::unhidden(std::size_t chunk, std::size_t chunks, double moved, double pass,
                                std::int64_t zero) const {
  const std::int64_t copies = input_.scenario.workload.plan.chunk_map().copies();
  // Chunks end a round of all stages after each other.
  const auto rounds = static_cast<double>(chunk * layout_.stages());
  const double own = has_buckets(chunk, zero, copies) ? pass : 0;
  return moved * static_cast<double>(chunk + 1) / static_cast<double>(chunks) - rounds * pass - own;
}

/// With one work queue a bucket waits for the one before it, and so does what is computed behind
/// it: of `moved` seconds in buckets that `passes` seconds fill. Of those that one piece fills only
/// the last is beside what comes next.
double LayoutEstimate::stalled(const StageLayout& stage, double moved, double passes) const {
  const WorkloadSpec& spec = input_.scenario.workload;
  // With a queue per stream nothing waits for what is issued before it.
  if (spec.runtime.start_order == RuntimeSpec::StartOrder::by_stream) return 0;
  double pieces = 0;
  for (const PieceCounts& counts : stage.pieces)
    for (const auto count : counts) pieces += static_cast<double>(count);
  const double cut = std::max(stage.dense / bucket_elements(spec, GroupKind::dense_data),
                              stage.expert / bucket_elements(spec, GroupKind::expert_data));
  // Buckets that more than one piece fills hide behind the pieces.
  const double beside = std::min(pieces / cut, 1.0);
  const double last =
      std::max(bucket(stage), 1 / pieces) * static_cast<double>(stage.pieces.size());
  return (1 - beside) * moved + std::max(1 - last, 0.0) * std::max(beside * moved - passes, 0.0);
}

/// In the last backward of the first chunk, for which the stages before it wait.
double LayoutEstimate::last_stall(std::size_t kind, std::int64_t zero) const {
  // Sharded gradients stall in every micro-batch, which paced() counts.
  if (zero >= 2) return 0;
  const StageLayout& stage = layout_.kinds[kind];
  const double reduced = (zero == 0 ? 2 : 1) * moved_[kind].reduce;
  return stalled(stage, reduced / static_cast<double>(stage.forward.size()),
                 stage.backward.front());
}

/// What of the gathers before and the reductions behind the work of a stage nothing hides: the last
/// bucket, or what is left when the chunks have ended.
double LayoutEstimate::gradients(std::size_t kind, bool first, std::int64_t zero) const {
  const auto& spec = input_.scenario.workload;
  const StageLayout& stage = layout_.kinds[kind];
  // Without sharding an all-reduce moves twice what a reduce-scatter does.
  const double reduced = (zero == 0 ? 2 : 1) * moved_[kind].reduce;
  // Zero 3 gathers with the units, zero 0 not at all.
  const double gathered = zero == 0 || zero == 3 ? 0 : moved_[kind].gather;
  if (!spec.communication.gradient_overlap) return (zero < 2 ? reduced : 0) + gathered;
  const double bucket = this->bucket(stage);
  const std::size_t chunks = stage.forward.size();
  double tail = last_stall(kind, zero) + reduced * bucket, ahead = first ? gathered * bucket : 0;
  // The last bucket always shows; of the rest what the chunks have not hidden.
  for (std::size_t c = 0; c < chunks; ++c) {
    tail = std::max(tail, unhidden(c, chunks, reduced, stage.backward.front(), zero));
    if (c > 0 || first)
      ahead = std::max(ahead, unhidden(c, chunks, gathered, stage.forward.front(), zero));
  }
  const double before = spec.communication.gather_overlap ? ahead : gathered;
  return (zero < 2 ? tail : reduced * bucket) + before;
}

/// Parts are added and not overlapped: what hides behind what is in the parts already.
double LayoutEstimate::estimate(const PipelineSchedule& schedule, std::int64_t zero) const {
  const std::size_t front = layout_.kind_of.front();
  // The stall of a stage delays those before it, so that it is added once per stage below.
  double exposed = gradients(front, true, zero) - last_stall(front, zero);
  for (std::size_t k = 0; k < layout_.kinds.size(); ++k)
    exposed = std::max(exposed, gradients(k, false, zero) - last_stall(k, zero));
  for (const std::size_t kind : layout_.kind_of) exposed += last_stall(kind, zero);
  const double away = this->away(zero);
  // Parts of the states that live elsewhere are updated from there.
  const double update = (away > 0 ? away * offloaded_optimizer(zero) : 0) +
                        (away < 1 ? (1 - away) * optimizer(zero) : 0);
  return pipeline(schedule, zero) + transfers(schedule) + exposed + between_directions(zero) +
         update;
}

}  // namespace stepcast
