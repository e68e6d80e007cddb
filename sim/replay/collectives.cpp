#include <algorithm>

#include "replayer.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

void Replayer::communicate(RankIndex r, const Communicate& instruction) {
  RankState& rank = ranks_[r];
  const StageCall& call = program(r).calls[instruction.call];
  const double issued = rank.issue(call.issue);
  const double ready = instruction.after_compute ? std::max(issued, rank.clocks.device) : issued;
  rank.slots[instruction.slot] = {unknown_time, unknown_time, issued, instruction.call, true};
  rank.streams[static_cast<std::size_t>(call.stream)].queue.push_back(
      {instruction.call, instruction.slot, ready});
  pump_stream(r, call.stream);
}

/// Lets the head of the stream join its meeting. What nothing can meet ends at once, by arithmetic.
void Replayer::pump_stream(RankIndex r, Stream stream) {
  RankState& rank = ranks_[r];
  StreamState& state = rank.streams[static_cast<std::size_t>(stream)];
  while (!state.busy && !state.queue.empty()) {
    const StreamState::Pending head = state.queue.front();
    const NetworkCall& call = network_call(r, head.call);
    const double start = std::max(head.ready, state.free_at);
    if (call.lone) {
      const ExposedKind kind = program(r).calls[head.call].kind;
      rank.slots[head.slot].start = start;
      rank.slots[head.slot].end = start + call.alone;
      rank.log.close(rank.log.open(start, kind), start + call.alone);
      state.free_at = start + call.alone;
      state.queue.pop_front();
      for (const auto& phase : call.phases) lone_flows_ += phase.size();
      if (rank.waiting == Waiting::slot && rank.waiting_slot == head.slot) wake(r);
    } else {
      state.busy = true;
      engine_.post(start, tag_of(Tag::join, r * streams + static_cast<std::size_t>(stream)));
    }
  }
}

void Replayer::join(RankIndex r, const StreamState::Pending& pending) {
  const GroupKind group = program(r).calls[pending.call].group;
  const NetworkCall& call = network_call(r, pending.call);
  const std::uint64_t nth = sequence_[r][static_cast<std::size_t>(group)]++;
  const auto [entry, fresh] = open_meetings_.try_emplace(
      {call.group, nth * group_kinds + static_cast<std::uint64_t>(group)}, 0);
  if (fresh) {
    if (free_meetings_.empty()) {
      free_meetings_.push_back(meetings_.size());
      meetings_.emplace_back();
    }
    entry->second = free_meetings_.back();
    free_meetings_.pop_back();
    meetings_[entry->second] = Meeting{.call = map_.call_of[r][pending.call]};
  }
  const std::uint64_t id = entry->second;
  Meeting& meeting = meetings_[id];
  meeting.members.push_back({r, pending.slot, 0});
  if (++meeting.arrived < call.arrivals) return;
  open_meetings_.erase(entry);
  meeting.start = engine_.now();
  for (Meeting::Member& member : meeting.members) {
    RankState& rank = ranks_[member.rank];
    rank.slots[member.slot].start = meeting.start;
    const StageProgram& code = program(member.rank);
    member.ticket = rank.log.open(meeting.start, code.calls[rank.slots[member.slot].call].kind);
  }
  begin_phase(id, engine_.now());
}

void Replayer::begin_phase(std::uint64_t id, double now) {
  Meeting& meeting = meetings_[id];
  const NetworkCall& call = map_.calls[meeting.call];
  if (meeting.phase == call.phases.size()) {
    finish(id, now);
    return;
  }
  const auto& flows = call.phases[meeting.phase];
  meeting.running = static_cast<std::uint32_t>(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const NetworkFlow& flow = flows[i];
    if (flow.path.empty()) {
      lone_flows_ += flow.bytes > 0 ? 1 : 0;
      engine_.post(now + flow.latency + flow.alone, tag_of(Tag::phase_part, id));
    } else {
      // The flow index rides in the tag, so that the end knows its latency.
      engine_.start_flow(flow.path, flow.bytes, tag_of(Tag::phase_part, id + (i << 32)));
    }
  }
}

void Replayer::part_ended(std::uint64_t id, double now) {
  Meeting& meeting = meetings_[id];
  if (--meeting.running > 0) return;
  ++meeting.phase;
  begin_phase(id, now);
}

void Replayer::finish(std::uint64_t id, double now) {
  const std::vector<Meeting::Member> members = std::move(meetings_[id].members);
  free_meetings_.push_back(id);
  for (const Meeting::Member& member : members) {
    RankState& rank = ranks_[member.rank];
    const Stream stream = program(member.rank).calls[rank.slots[member.slot].call].stream;
    StreamState& state = rank.streams[static_cast<std::size_t>(stream)];
    rank.slots[member.slot].end = now;
    rank.log.close(member.ticket, now);
    state.queue.pop_front();
    state.busy = false;
    state.free_at = now;
    if (rank.waiting == Waiting::slot && rank.waiting_slot == member.slot) wake(member.rank);
    pump_stream(member.rank, stream);
  }
}

bool Replayer::wait_slot(RankIndex r, std::uint32_t slot) {
  RankState& rank = ranks_[r];
  const SlotState& state = rank.slots[slot];
  expects(state.issued, "a slot is issued before it is awaited");
  if (state.end == unknown_time) {
    rank.waiting = Waiting::slot;
    rank.waiting_slot = slot;
    return false;
  }
  const StageCall& call = program(r).calls[state.call];
  const bool crosses_stages = call.group == GroupKind::world ||
                              call.group == GroupKind::embedding ||
                              call.group == GroupKind::pipeline;
  const bool after_pipeline = crosses_stages && !rank.met_after_pipeline;
  if (crosses_stages) rank.met_after_pipeline = true;
  idle(rank, state.end, state.start, call.kind, state.host_ready, after_pipeline);
  return true;
}

}  // namespace stepcast
