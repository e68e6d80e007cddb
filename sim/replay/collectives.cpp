#include <algorithm>

#include "replayer.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/replay/held_cores.hpp"

namespace stepcast {

/// Issuing goes through here and not through the rank, because a recording needs the clocks before
/// and after.
HostReady Replayer::issue(RankIndex r, const OperatorCost& cost, bool after_compute,
                          std::uint32_t& entry) {
  RankState& rank = ranks_[r];
  const Clocks before = rank.clocks;
  const HostReady issued = rank.issue(cost);
  if (recorder_) entry = recorder_->issue(r, before, rank.clocks, after_compute);
  return issued;
}

/// The host goes on as soon as it has issued; when the collective may begin, its stream decides.
void Replayer::communicate(RankIndex r, const Communicate& instruction) {
  RankState& rank = ranks_[r];
  const StageCall& call = program(r).calls[instruction.call];
  std::uint32_t entry = Recording::none;
  // What a later step issues first uses what the step before left on the compute stream.
  const bool after_compute = instruction.after_compute || rank.step > 0;
  const HostReady issued = issue(r, call.issue, after_compute, entry);
  const double ready = after_compute ? std::max(issued.at, rank.clocks.device) : issued.at;
  // A slot may be issued anew while the call before is under way: numbers tell them apart.
  SlotState& slot = rank.slots[instruction.slot];
  slot.start = slot.end = unknown_time;
  slot.host = issued;
  slot.held = network_call(r, instruction.call).held;
  // Where the device stands now: cores that the call will hold count from here.
  slot.device = rank.clocks.device;
  slot.worked = rank.worked;
  slot.call = instruction.call;
  ++slot.issue;
  slot.issued = true;
  slot.awaited = false;
  slot.entry = entry;
  const StreamState::Pending pending{instruction.call, instruction.slot, slot.issue, ready, entry};
  StreamState& stream = rank.stream[static_cast<std::size_t>(call.stream)];
  // What nothing stands before and nothing can meet is over at once.
  if (!stream.busy && stream.queue.empty() && end_lone(r, stream, pending)) return;
  stream.queue.push_back(pending);
  pump_stream(r, call.stream);
}

/// Says of which calls the next instruction awaits the end: they meet at most what their rank began
/// before. A call that several classes arrive at, or that others meet, is none of them.
void Replayer::find_calls_in_turn() {
  for (const RankState& rank : ranks_) {
    const Orderly& orderly = orderly_[rank.stage.value];
    for (std::size_t c = 0; c < rank.program->calls.size(); ++c) {
      CallSummary& call = calls_[rank.call_of[c]];
      const std::optional<StreamSet>& rivals = map_.calls[rank.call_of[c]].rivals;
      // A stream that begins before the compute stream gets there could still come beside it.
      call.in_turn = rivals && call.arrivals == 1 && orderly.awaited_at_once[c] &&
                     (*rivals & orderly.begin_early).none();
    }
  }
}

Replayer::CallSummary Replayer::summary_of(const NetworkCall& call) {
  // Counted once here, since the flows of a call are asked for at every meeting of its members.
  std::size_t flows = 0;
  for (const auto& phase : call.phases) flows += phase.size();
  return {call.alone, call.held, call.group, call.arrivals, static_cast<std::uint32_t>(flows),
          call.lone,  call.once};
}

/// Lets the head of the stream arrive at its meeting.
void Replayer::pump_stream(RankIndex r, Stream stream) {
  StreamState& state = ranks_[r].stream[static_cast<std::size_t>(stream)];
  while (!state.busy && !state.queue.empty()) {
    // A head that nothing can meet ends here and lets the next one come, without an event.
    const StreamState::Pending& head = state.queue.front();
    if (end_lone(r, state, head)) {
      RankState& rank = ranks_[r];
      const bool awaited = rank.waiting == Waiting::slot && rank.waiting_slot == head.slot &&
                           rank.slots[head.slot].issue == head.issue;
      state.queue.pop_front();
      if (awaited) wake(r);
    } else {
      state.busy = true;
      arrive(r, head, begin_of(state, head));
    }
  }
}

/// Issued, inputs there, and the stream free: the latest of the three.
double Replayer::begin_of(const StreamState& state, const StreamState::Pending& pending) {
  return std::max(pending.ready, state.free_at);
}

/// What nothing can meet ends by arithmetic; false where it may meet something.
bool Replayer::end_lone(RankIndex r, StreamState& state, const StreamState::Pending& pending) {
  const CallSummary& call = network_call(r, pending.call);
  const double start = begin_of(state, pending);
  if (call.lone && call.arrivals == 1) {
    // Hosts of other kinds of nodes may have other links.
    const StageCall& own = program(r).calls[pending.call];
    const bool own_link = own.over_host_link() && call.group == NetworkCall::no_group;
    end_lone(r, state, pending, start, start + (own_link ? own.host_link.value() : call.alone));
    return true;
  }
  if (!meets_nothing(r, pending.call, call, start)) return false;
  const NetworkCall& whole = map_.calls[ranks_[r].call_of[pending.call]];
  end_lone(r, state, pending, start, end_on_links(whole, start));
  return true;
}

/// A rank that awaits a call at once begins nothing beside it, so that the call meets what the rank
/// began before, if that: its end is known with its start.
bool Replayer::meets_nothing(RankIndex r, std::uint32_t index, const CallSummary& call,
                             double start) const {
  if (!call.in_turn) return false;
  const RankState& rank = ranks_[r];
  const unsigned long rivals = map_.calls[rank.call_of[index]].rivals->to_ulong();
  for (std::size_t s = 0; rivals >> s != 0; ++s) {
    const StreamState& other = rank.stream[s];
    // What is queued or not over yet on a rival stream could meet it on a link.
    if ((rivals >> s & 1U) != 0 && (!other.queue.empty() || other.free_at > start)) return false;
  }
  return true;
}

/// As the engine adds it up, phase by phase: a flow that meets no other takes what FlowTable::add
/// says, rounded before it is added to the date, also where a compiler fuses products with sums.
double Replayer::end_on_links(const NetworkCall& call, double start) const {
  double end = start;
  for (const auto& phase : call.phases) {
    for (const NetworkFlow& flow : phase) {
      // The link on which the flow's own shares take longest.
      double per_byte = 0;
      for (const LinkUse& use : flow.path)
        per_byte = std::max(per_byte, use.count / map_.bandwidths[use.link]);
      const double alone = flow.bytes * per_byte;
      end = flow.path.empty() ? end + flow.latency + flow.alone : end + alone + flow.latency;
    }
  }
  return end;
}

/// One class alone with its links: nobody to wait for.
void Replayer::end_lone(RankIndex r, StreamState& state, const StreamState::Pending& head,
                        double start, double end) {
  RankState& rank = ranks_[r];
  SlotState& slot = rank.slots[head.slot];
  // A slot that was issued again belongs to the newer call.
  if (slot.issue == head.issue) {
    slot.start = start;
    slot.end = end;
  }
  rank.log.add(start, end, program(r).calls[head.call].kind);
  if (recorder_) recorder_->moved(map_.call_of[r][head.call], start, end);
  if (recorder_ && recorder_->records(r)) {
    const std::uint32_t recorded = recorder_->begin_collective(map_.call_of[r][head.call], start);
    recorder_->member(recorded, {r, head.call, head.entry, Recording::none, start},
                      static_cast<std::size_t>(program(r).calls[head.call].stream));
    recorder_->end(recorded, end, end);
  }
  ++unsettled_;
  state.free_at = end;
  lone_flows_ += network_call(r, head.call).flows;
}

std::uint32_t Replayer::new_meeting(std::uint32_t call) {
  // Meetings that ended are taken again: a step has millions of them, and only as many exist as are
  // open at once.
  if (free_meetings_.empty()) {
    free_meetings_.push_back(static_cast<std::uint32_t>(meetings_.size()));
    meetings_.emplace_back();
  }
  const std::uint32_t id = free_meetings_.back();
  free_meetings_.pop_back();
  meetings_[id].call = call;
  meetings_[id].phase = 0;
  meetings_[id].running = 0;
  meetings_[id].start = 0;
  return id;
}

/// Members meet at the calls of their group in the order in which they make them. Calls of the
/// world that run alone have the last place.
std::uint32_t Replayer::meeting_of(RankIndex r, std::uint32_t call) {
  const auto kind = static_cast<std::size_t>(program(r).calls[call].group);
  const CallSummary& planned = network_call(r, call);
  // A class that meets nobody has no call that waits for others.
  if (planned.arrivals == 1) return new_meeting(ranks_[r].call_of[call]);
  const bool copy = program(r).calls[call].over_host_link();  // of no group, and met by nobody
  // Calls of a trace and copies meet under the number of their group, each once.
  const std::uint64_t made = planned.once || copy ? 0 : ranks_[r].calls_made[kind]++;
  const std::uint64_t nth = made * group_kinds + kind;
  // Groups have few calls open at a time, so that a search beats a map.
  auto& open = open_meetings_[std::min<std::size_t>(planned.group, open_meetings_.size() - 1)];
  auto found = std::ranges::find(open, nth, &OpenMeeting::nth);
  if (found == open.end()) found = open.insert(found, {nth, new_meeting(ranks_[r].call_of[call])});
  const std::uint32_t id = found->id;
  // With the last member nobody can come any more: the entry makes room.
  if (meetings_[id].members.size() + 1 == calls_[meetings_[id].call].arrivals) {
    *found = open.back();
    open.pop_back();
  }
  return id;
}

/// The start is that of the latest member, so that it is known when the last one is there.
void Replayer::arrive(RankIndex r, const StreamState::Pending& pending, double start) {
  const std::uint32_t id = meeting_of(r, pending.call);
  Meeting& meeting = meetings_[id];
  Meeting::Member& member = meeting.members.emplace_back();
  member.rank = r;
  member.call = pending.call;
  member.slot = pending.slot;
  member.issue = pending.issue;
  member.entry = pending.entry;
  member.start = start;
  meeting.start = std::max(meeting.start, start);
  if (meeting.members.size() == calls_[meeting.call].arrivals) begin_meeting(id);
}

/// All members have arrived. What nothing can meet is over at once, the rest begins at its date.
void Replayer::begin_meeting(std::uint32_t id) {
  Meeting& meeting = meetings_[id];
  const CallSummary& call = calls_[meeting.call];
  if (recorder_) record_collective(meeting);
  if (call.lone) {
    lone_flows_ += call.flows;
    finish_alone(id, meeting.start + call.alone);
    // Members learn the start now and the end as an event: others may slow the flows until then.
    return;
  }
  for (Meeting::Member& member : meeting.members) {
    RankState& rank = ranks_[member.rank];
    SlotState& slot = rank.slots[member.slot];
    if (slot.issue == member.issue) slot.start = meeting.start;
    member.ticket = rank.log.open(meeting.start, program(member.rank).calls[member.call].kind);
    ++unsettled_;
  }
  engine_.post(meeting.start, tag_of(Tag::meeting, id));
}

/// A collective is recorded before it begins, because whoever waits for it refers to it.
void Replayer::record_collective(Meeting& meeting) {
  const auto recorded = [&](const Meeting::Member& m) { return recorder_->records(m.rank); };
  meeting.recorded = Recording::none;
  if (std::ranges::none_of(meeting.members, recorded)) return;
  meeting.recorded = recorder_->begin_collective(meeting.call, meeting.start);
  for (const Meeting::Member& m : meeting.members) {
    recorder_->member(meeting.recorded, {m.rank, m.call, m.entry, Recording::none, m.start},
                      static_cast<std::size_t>(program(m.rank).calls[m.call].stream));
  }
}

/// A flow without shared links takes its closed form even where the others of its phase do not.
void Replayer::begin_phase(std::uint32_t id, double now) {
  Meeting& meeting = meetings_[id];
  const NetworkCall& call = map_.calls[meeting.call];
  if (meeting.phase == call.phases.size()) {
    finish(id, now);
    return;
  }
  const auto& flows = call.phases[meeting.phase];
  meeting.running = 0;
  meeting.phase_end = now;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const NetworkFlow& flow = flows[i];
    if (flow.path.empty()) {
      // Flows without bytes are barriers, not transfers.
      lone_flows_ += flow.bytes > 0 ? 1 : 0;
      meeting.phase_end = std::max(meeting.phase_end, now + flow.latency + flow.alone);
    } else {
      ++meeting.running;
      // The flow index rides in the tag, so that the end knows its latency.
      engine_.start_flow(flow.path, flow.bytes,
                         tag_of(Tag::phase_flow, id + (static_cast<std::uint64_t>(i) << 32U)));
    }
  }
  if (meeting.running == 0) end_phase(id, now);
}

/// The bytes of a flow are through, and what it brings is there one latency later. A phase is a
/// barrier: the next one sends on what all flows of this one have brought.
void Replayer::phase_flow_ended(std::uint32_t id, std::size_t flow, double now) {
  Meeting& meeting = meetings_[id];
  const double latency = map_.calls[meeting.call].phases[meeting.phase][flow].latency;
  meeting.phase_end = std::max(meeting.phase_end, now + latency);
  if (--meeting.running == 0) end_phase(id, now);
}

/// With the last bytes it is known when the phase ends: one event, however many flows it has.
void Replayer::end_phase(std::uint32_t id, double now) {
  Meeting& meeting = meetings_[id];
  ++meeting.phase;
  if (meeting.phase_end > now)
    engine_.post(meeting.phase_end, tag_of(Tag::meeting, id));
  else
    begin_phase(id, now);
}

void Replayer::finish(std::uint32_t id, double end) {
  for (const Meeting::Member& member : meetings_[id].members) {
    ranks_[member.rank].log.close(member.ticket, end);
    release(member, end);
  }
  end_meeting(id, end);
}

/// Its end is known with its start, so that both are told at once.
void Replayer::finish_alone(std::uint32_t id, double end) {
  // Both dates are known now, so that the logs need no tickets.
  const Meeting& meeting = meetings_[id];
  unsettled_ += meeting.members.size();
  for (const Meeting::Member& member : meeting.members) {
    RankState& rank = ranks_[member.rank];
    SlotState& slot = rank.slots[member.slot];
    if (slot.issue == member.issue) slot.start = meeting.start;
    rank.log.add(meeting.start, end, rank.program->calls[member.call].kind);
    release(member, end);
  }
  end_meeting(id, end);
}

/// Streams are only noted as free, because beginning what they hold may end at once and free more
/// of them.
void Replayer::release(const Meeting::Member& member, double end) {
  RankState& rank = ranks_[member.rank];
  const Stream stream = rank.program->calls[member.call].stream;
  StreamState& state = rank.stream[static_cast<std::size_t>(stream)];
  state.queue.pop_front();
  state.busy = false;
  state.free_at = end;
  if (SlotState& slot = rank.slots[member.slot]; slot.issue == member.issue) {
    slot.end = end;
    if (rank.waiting == Waiting::slot && rank.waiting_slot == member.slot) wake(member.rank);
  }
  if (!state.queue.empty()) free_streams_.emplace_back(member.rank, stream);
}

void Replayer::end_meeting(std::uint32_t id, double end) {
  Meeting& meeting = meetings_[id];
  if (recorder_) recorder_->moved(meeting.call, meeting.start, end);
  if (recorder_ && meeting.recorded != Recording::none) recorder_->end(meeting.recorded, end, end);
  meeting.members.clear();
  free_meetings_.push_back(id);
}

/// Not over, or not begun: whoever ends it wakes the rank.
bool Replayer::slot_is_over(RankIndex r, std::uint32_t slot) {
  RankState& rank = ranks_[r];
  expects(rank.slots[slot].issued, "a slot is issued before it is awaited");
  if (rank.slots[slot].end != unknown_time) return true;
  rank.waiting = Waiting::slot;
  rank.waiting_slot = slot;
  return false;
}

/// The first rendezvous with other stages behind the pipeline shows how uneven they are, so that
/// waiting for it counts as bubble.
void Replayer::wait_slot(RankIndex r, std::uint32_t slot) {
  RankState& rank = ranks_[r];
  SlotState& state = rank.slots[slot];
  state.awaited = true;
  const StageCall& call = program(r).calls[state.call];
  const bool crosses_stages = call.group == GroupKind::world ||
                              call.group == GroupKind::embedding ||
                              call.group == GroupKind::mirror || call.group == GroupKind::pipeline;
  const bool after_pipeline = crosses_stages && !rank.met_after_pipeline;
  if (crosses_stages) rank.met_after_pipeline = true;
  const std::uint32_t recorded =
      recorder_ ? recorder_->communication_of(r, state.entry) : Recording::none;
  // First what the call took from the device while it ran, then what is left to wait for.
  give_cores(r, state, call.kind, recorded);
  idle(r, state.end, state.start, call.kind, state.host, after_pipeline, recorded);
}

/// What the exchange took from the compute stream is told when it is waited for; it counts as
/// exposed, so that computing is what the operators take.
void Replayer::give_cores(RankIndex r, const SlotState& state, ExposedKind kind,
                          std::uint32_t recorded) {
  if (!(state.held > 0)) return;
  RankState& rank = ranks_[r];
  const Clocks before = rank.clocks;
  const double taken =
      taken_by({state.held, state.start, state.end, state.device, rank.worked - state.worked},
               before.device);
  if (!(taken > 0)) return;
  rank.clocks.device += taken;
  rank.times().exposed[static_cast<std::size_t>(kind)] += Seconds{taken};
  if (!recorder_) return;
  recorder_->give_cores(r, before, rank.clocks, recorded);
  recorder_->piece(r, {before.device, rank.clocks.device, WaitPart::exposed, kind});
}

}  // namespace stepcast
