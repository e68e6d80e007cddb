#include "rank_state.hpp"

namespace stepcast {
namespace {

/// Messages keep their chunk and slice: only a micro-batch is another one after a skip.
void move(Message& message, double time, std::uint32_t micro_batches) {
  message.start += time;
  message.arrival += time;
  message.micro_batch.value += micro_batches;
}

void move(Fifo<ChannelState::Pending>& queue, double time, std::uint32_t micro_batches) {
  for (ChannelState::Pending& pending : queue) {
    pending.ready += time;
    move(pending.message, time, micro_batches);
  }
}

/// Appends what a state consists of, times and micro-batches relative to a mark.
class StateWriter {
 public:
  StateWriter(double origin, double micro_batch, std::vector<double>& state)
      : origin_{origin}, micro_batch_{micro_batch}, state_{state} {}

  void number(double value) { state_.push_back(value); }
  void time(double value) { state_.push_back(value - origin_); }
  void message(const Message& m) {
    number(m.gradient ? 1 : 0);
    number(static_cast<double>(m.micro_batch.value) - micro_batch_);
    number(m.chunk.value);
    number(m.slice.value);
    time(m.start);
    time(m.arrival);
  }

 private:
  double origin_;
  double micro_batch_;
  std::vector<double>& state_;
};

}  // namespace

/// A number too many and nothing ever recurs, one too few and something recurs that does not: this
/// holds exactly what later instructions read.
void RankState::append_state(bool free_host, bool follows_clock, double origin,
                             std::uint32_t micro_batch, std::vector<double>& state) const {
  // Order and number of entries are fixed, so that two states can be compared place by place.
  StateWriter write(origin, micro_batch, state);
  write.time(clocks.device);
  // A host that can no longer hold the device up has no part in what comes.
  if (!free_host) {
    write.time(clocks.main);
    write.time(clocks.worker);
    host_queue.append_state(origin, state);
  }
  for (const double number :
       {marked_unit == unit ? 1.0 : 0.0, static_cast<double>(part), static_cast<double>(pc),
        static_cast<double>(waiting), static_cast<double>(waiting_slot),
        static_cast<double>(sends_pending)}) {
    write.number(number);
  }
  for (const SlotState& slot : slots) {
    write.number(slot.awaited ? 1 : 0);
    // What was awaited is over and has no effect.
    if (slot.awaited) continue;
    write.number(slot.call);
    write.time(slot.start);
    write.time(slot.end);
    // Only a call that holds cores asks where the device was when it was issued.
    if (slot.held > 0) {
      write.time(slot.device);
      write.number(worked - slot.worked);
    }
    if (free_host) continue;
    write.time(slot.host.at);
    write.time(slot.host.prompt);
  }
  // What was free before anything can be issued again makes no difference.
  const double next_issue = free_host ? clocks.device : clocks.worker;
  for (const StreamState& s : stream) {
    write.number(s.busy ? 1 : 0);
    write.time(std::max(s.free_at, next_issue));
    write.number(static_cast<double>(s.queue.size()));
    for (const StreamState::Pending& pending : s.queue) {
      write.number(pending.call);
      write.number(pending.slot);
      write.number(slots[pending.slot].issue - pending.issue);
      write.time(pending.ready);
    }
  }
  for (const ChannelState& sends : channel) {
    write.number(sends.busy ? 1 : 0);
    write.time(std::max(sends.free_at, next_issue));
    write.number(static_cast<double>(sends.queue.size()));
    for (const ChannelState::Pending& pending : sends.queue) {
      write.message(pending.message);
      write.time(pending.ready);
    }
  }
  write.number(static_cast<double>(inbox.size()));
  for (const Message& message : inbox) write.message(message);
  write.time(std::max(last_send_arrival, clocks.device));
  // Clocks of devices depend on the past beyond the marks.
  if (follows_clock) {
    write.time(clock_state.worked_until());
    write.time(std::max(clock_state.slow_until(), clocks.device));
    write.number(power_reserve.saved());
  }
  log.append_state(origin, state);
}

/// Counts of issues stay, because what compares them compares differences.
void RankState::shift(double time, std::uint32_t micro_batches) {
  clocks = {clocks.main + time, clocks.worker + time, clocks.device + time};
  host_queue.shift(time);
  // Every date that the rank remembers, or the next step would wait for one of the past.
  for (SlotState& slot : slots) {
    slot.start += time;
    slot.end += time;
    slot.device += time;
    slot.host.at += time;
    slot.host.prompt += time;
  }
  for (StreamState& s : stream) {
    s.free_at += time;
    for (StreamState::Pending& pending : s.queue) pending.ready += time;
  }
  for (ChannelState& sends : channel) {
    sends.free_at += time;
    stepcast::move(sends.queue, time, micro_batches);
  }
  for (Message& message : inbox) stepcast::move(message, time, micro_batches);
  last_send_arrival += time;
  last_send_start += time;
  clock_state.shift(time);
  power_reserve.shift(time);
  log.shift(time);
}

std::uint32_t gradients_per_chunk(const PipelineShape& shape) {
  return static_cast<std::uint32_t>(micro_batches_per_chunk(shape) * shape.slices);
}

const Instructions& unit_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& unit) {
  const ChunkProgram& chunk = program.of(unit.chunk, unit.slice);
  // Gradients are counted when a unit begins, so that the last one sees the full count.
  const bool last = begun.gradients[unit.chunk.value] == gradients_per_chunk(shape);
  switch (unit.kind) {
    case UnitKind::forward:
      return begun.forwards[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
    case UnitKind::backward_input:
      return chunk.backward_input;
    case UnitKind::backward_weight:
      return last ? chunk.last_backward_weight : chunk.backward_weight;
    case UnitKind::backward:
      break;
  }
  return last ? chunk.last_backward : chunk.backward;
}

const Instructions* pair_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& forward,
                              const Unit& backward) {
  const auto& paired = program.of(forward.chunk, forward.slice).paired;
  // Joint code exists for the steady phase alone.
  const bool apart = paired.empty() || begun.forwards[forward.chunk.value] == 1 ||
                     begun.gradients[backward.chunk.value] == gradients_per_chunk(shape);
  return apart ? nullptr : &paired[backward.chunk.value];
}

}  // namespace stepcast
