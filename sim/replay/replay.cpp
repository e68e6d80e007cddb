#include "stepcast/sim/replay.hpp"

#include <algorithm>
#include <string>

#include "replayer.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

Replayer::Replayer(const ReplayInput& input)
    : input_{input},
      map_{input.network},
      engine_{map_.bandwidths},
      sequence_(map_.classes.representative.size()) {
  for (std::uint32_t s = 0; s < input.programs.size(); ++s) {
    orders_.push_back(input.schedule.order(input.shape, Stage{s}));
  }
  for (std::uint32_t r = 0; r < sequence_.size(); ++r) {
    RankState& rank = ranks_.emplace_back(static_cast<std::uint64_t>(input.host.queue_depth));
    rank.order = &orders_[map_.classes.stage[r].value];
    rank.slots.resize(program(r).slots);
    rank.forwards.resize(static_cast<std::size_t>(input.shape.chunks));
    rank.backwards.resize(rank.forwards.size());
  }
}

Timeline Replayer::run() {
  for (RankIndex r = static_cast<RankIndex>(ranks_.size()); r-- > 0;) wake(r);
  work();
  engine_.run(*this);
  for (const RankState& rank : ranks_) {
    if (rank.waiting != Waiting::done) report_deadlock();
  }
  return timeline();
}

/// Ranks run ahead of the engine's clock as far as what they wait for is known.
void Replayer::work() {
  while (!ready_.empty()) {
    const RankIndex r = ready_.back();
    ready_.pop_back();
    if (ranks_[r].waiting != Waiting::done) advance(r);
  }
}

void Replayer::advance(RankIndex r) {
  RankState& rank = ranks_[r];
  const StageProgram& code = program(r);
  rank.waiting = Waiting::nothing;
  if (rank.phase == RankState::Phase::prologue) {
    if (!next_instruction(r, code.prologue)) return;
    rank.phase = RankState::Phase::units;
    rank.pc = 0;
  }
  while (rank.phase == RankState::Phase::units && rank.unit < rank.order->size()) {
    if (!run_unit(r)) return;
  }
  rank.phase = RankState::Phase::epilogue;
  if (!next_instruction(r, code.epilogue)) return;
  rank.waiting = Waiting::done;
  rank.times.end = Seconds{rank.clocks.device};
}

/// Executes from `pc` to the end of the code; false when the rank has to wait first.
bool Replayer::next_instruction(RankIndex r, const Instructions& code) {
  RankState& rank = ranks_[r];
  while (rank.pc < code.size()) {
    if (!execute(r, code[rank.pc])) return false;
    ++rank.pc;
    ++tasks_;
  }
  return true;
}

bool Replayer::execute(RankIndex r, const Instruction& instruction) {
  RankState& rank = ranks_[r];
  if (const auto* run = std::get_if<Compute>(&instruction)) {
    compute(rank, program(r).segments[run->segment]);
  } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
    communicate(r, *start);
  } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
    return wait_slot(r, wait->slot);
  } else {
    rank.clocks = host_sync(rank.clocks, input_.host.synchronise.value());
  }
  return true;
}

void Replayer::compute(RankState& rank, const Segment& segment) {
  const double before = rank.clocks.device;
  rank.clocks = rank.host_queue.run(rank.clocks, segment, {});
  const double worked = segment.device_time();
  rank.times.computing += Seconds{worked};
  rank.times.host_stall += Seconds{std::max(0.0, rank.clocks.device - before - worked)};
}

const Instructions& Replayer::unit_code(RankState& rank, const StageProgram& program,
                                        const Unit& unit) const {
  const ChunkProgram& chunk = program.chunks[unit.chunk.value];
  if (unit.kind == UnitKind::forward) {
    return rank.forwards[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
  }
  expects(unit.kind == UnitKind::backward, "schedules of whole backward units");
  const bool last = rank.backwards[unit.chunk.value] == input_.shape.micro_batches;
  return last ? chunk.last_backward : chunk.backward;
}

/// One unit: wait for its input, run its code, send its output.
bool Replayer::run_unit(RankIndex r) {
  RankState& rank = ranks_[r];
  const Unit& unit = (*rank.order)[rank.unit];
  if (rank.step == RankState::Step::receive) {
    if (!receive(r, unit)) return false;
    ++(unit.kind == UnitKind::forward ? rank.forwards : rank.backwards)[unit.chunk.value];
    rank.step = RankState::Step::code;
    rank.pc = 0;
  }
  if (rank.step == RankState::Step::code) {
    if (!next_instruction(r, unit_code(rank, program(r), unit))) return false;
    rank.step = RankState::Step::send;
  }
  if (rank.step == RankState::Step::send) {
    send(r, unit);
    rank.step = RankState::Step::settle;
  }
  if (rank.step == RankState::Step::settle && !settle_send(r)) return false;
  rank.step = RankState::Step::receive;
  rank.pc = 0;
  ++rank.unit;
  return true;
}

/// The compute stream waits until `to` for a communication that moves from `moving_from` on. What
/// else moved before that is told when everything that can move is known.
void Replayer::idle(RankState& rank, double to, double moving_from, ExposedKind kind,
                    double host_ready, bool pipeline) {
  const double from = rank.clocks.device;
  if (to <= from) return;
  const double moving = std::clamp(moving_from, from, to);
  rank.times.exposed[static_cast<std::size_t>(kind)] += Seconds{to - moving};
  rank.clocks.device = to;
  if (moving <= from) return;
  rank.log.add({from, moving, host_ready, pipeline});
  if (++unsettled_ > waits_per_settling * ranks_.size()) settle();
}

/// Nothing can begin before the earliest clock of a rank that still works, nor before the engine's.
void Replayer::settle() {
  double known = engine_.earliest();
  for (const RankState& rank : ranks_) {
    if (rank.waiting != Waiting::done) known = std::min(known, rank.clocks.device);
  }
  for (RankState& rank : ranks_) rank.log.settle(known, rank.clocks.device, rank.times);
  unsettled_ = 0;
}

Timeline Replayer::timeline() {
  Timeline result;
  for (const RankState& rank : ranks_)
    result.step_time = std::max(result.step_time, rank.times.end);
  for (RankState& rank : ranks_) {
    idle(rank, result.step_time.value(), result.step_time.value(), ExposedKind::pipeline, 0, true);
    rank.log.settle(unknown_time, unknown_time, rank.times);
    rank.times.communication = Seconds{rank.log.total()};
    result.classes.push_back(rank.times);
  }
  result.tasks = tasks_;
  result.events = engine_.events();
  result.flows = engine_.flows();
  result.lone_flows = lone_flows_ + engine_.lone_flows();
  return result;
}

void Replayer::report_deadlock() const {
  for (RankIndex r = 0; r < ranks_.size(); ++r) {
    const RankState& rank = ranks_[r];
    if (rank.waiting == Waiting::done) continue;
    const RankClasses& classes = map_.classes;
    std::string what = "rank " + std::to_string(classes.representative[r].value) + " of stage " +
                       std::to_string(classes.stage[r].value) + " waits for ever";
    if (rank.waiting == Waiting::message && rank.unit < rank.order->size()) {
      what += " for the input of " + to_string((*rank.order)[rank.unit], input_.shape.chunks);
    } else if (rank.waiting == Waiting::slot) {
      what += " for " + program(r).calls[rank.slots[rank.waiting_slot].call].name;
    }
    throw EngineError(what);
  }
  throw EngineError("the replay stopped early");
}

void Replayer::on_event(double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  switch (static_cast<Tag>(tag % tag_kinds)) {
    case Tag::join: {
      const auto r = static_cast<RankIndex>(index / streams);
      join(r, ranks_[r].streams[index % streams].queue.front());
      break;
    }
    case Tag::phase_part:
      part_ended(index, now);
      break;
    case Tag::transfer:
      transfer(static_cast<RankIndex>(index / 2), index % 2 == 1, now);
      break;
  }
  work();
}

void Replayer::on_flow_end(double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  if (static_cast<Tag>(tag % tag_kinds) == Tag::phase_part) {
    const std::uint64_t id = index & 0xffffffffU;
    const Meeting& meeting = meetings_[id];
    const NetworkFlow& flow = map_.calls[meeting.call].phases[meeting.phase][index >> 32];
    if (flow.latency > 0) {
      engine_.post(now + flow.latency, tag_of(Tag::phase_part, id));
    } else {
      part_ended(id, now);
    }
  } else {
    const auto r = static_cast<RankIndex>(index / 2);
    bytes_ended(r, index % 2 == 1, now);
    pump_channel(r, index % 2 == 1);
  }
  work();
}

Timeline replay(const ReplayInput& input) { return Replayer(input).run(); }

}  // namespace stepcast
