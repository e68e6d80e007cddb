#include <algorithm>

#include "lane_replayer.hpp"

// What ranks exchange: together in all lanes where nothing can meet it, lane by lane elsewhere.
namespace stepcast {

void LaneReplayer::communicate(RankIndex r, const StepOp& op) {
  LaneRank& rank = ranks_[r];
  const StageCall& call = rank.program->calls[op.index];
  LaneIssue issued{0, issue(rank, call.issue)};
  if (op.after_compute) issued.ready = later(issued.ready, rank.clocks.device);
  LaneSlot& slot = rank.slots[op.slot];
  // Slots are not known in any lane until the call ends there.
  slot.end.unknown = lanes;
  ++slot.issue;
  slot.held = network_call(r, op.index).held;
  slot.device = rank.clocks.device;
  slot.worked = rank.worked;
  issued.meeting = meeting_of(r, op.index);
  LaneMeeting& meeting = meetings_[issued.meeting];
  meeting.members.push_back({r, op.index, op.slot, slot.issue, call.stream});
  LaneStream& stream = rank.stream[static_cast<std::size_t>(call.stream)];
  // A stream on which nothing meets others is arithmetic on vectors.
  if (!shared_[static_cast<std::size_t>(call.stream)]) {
    if (stream.busy || !stream.together.empty()) {
      stream.together.push_back(issued);
    } else {
      stream.busy = true;
      arrive_together(issued.meeting, later(issued.ready, stream.free_at));
    }
    return;
  }
  // Lane by lane: each knows its own end.
  slot.end.at = LaneTimes::all(unknown_date);
  stream.apart.push_back(issued);
  for (std::size_t l = 0; l < lanes; ++l) pump(r, call.stream, l);
}

/// Calls of a group are told apart by how many of their kind its members issued before: a kind has
/// one stream, which is in order.
std::uint32_t LaneReplayer::meeting_of(RankIndex r, std::uint32_t call) {
  const auto kind = static_cast<std::size_t>(ranks_[r].program->calls[call].group);
  const NetworkCall& planned = network_call(r, call);
  // One class meets nobody and needs no place in the list.
  if (planned.arrivals == 1) return new_meeting(ranks_[r].call_of[call]);
  const std::uint64_t nth = ranks_[r].calls_made[kind]++ * group_kinds + kind;
  auto& open = open_meetings_[std::min<std::size_t>(planned.group, open_meetings_.size() - 1)];
  auto found = std::ranges::find(open, nth, &OpenMeeting::nth);
  if (found == open.end()) found = open.insert(found, {nth, new_meeting(ranks_[r].call_of[call])});
  const std::uint32_t id = found->id;
  // Nobody can come any more: the entry makes room.
  if (meetings_[id].members.size() + 1 == planned.arrivals) {
    *found = open.back();
    open.pop_back();
  }
  return id;
}

std::uint32_t LaneReplayer::new_meeting(std::uint32_t call) {
  if (free_meetings_.empty()) {
    free_meetings_.push_back(static_cast<std::uint32_t>(meetings_.size()));
    meetings_.emplace_back();
  }
  const std::uint32_t id = free_meetings_.back();
  free_meetings_.pop_back();
  meetings_[id].call = call;
  return id;
}

void LaneReplayer::free_meeting(std::uint32_t id) {
  // All fields anew, since places are given again.
  LaneMeeting& meeting = meetings_[id];
  meeting.members.clear();
  meeting.start = {};
  meeting.together = 0;
  meeting.arrived = meeting.phase = meeting.running = {};
  meeting.lanes_left = lanes;
  free_meetings_.push_back(id);
}

/// Hosts of a rank may have links of their own.
double LaneReplayer::alone(RankIndex r, std::uint32_t call) const {
  const StageCall& own = ranks_[r].program->calls[call];
  const NetworkCall& planned = network_call(r, call);
  const bool own_link = own.over_host_link() && planned.group == NetworkCall::no_group;
  return planned.arrivals == 1 && own_link ? own.host_link.value() : planned.alone;
}

void LaneReplayer::pump_together(RankIndex r, Stream stream) {
  LaneStream& state = ranks_[r].stream[static_cast<std::size_t>(stream)];
  if (state.busy || state.together.empty()) return;
  // Copied, because arriving may end at once and touch the queue.
  const LaneIssue head = state.together.front();
  state.together.pop_front();
  state.busy = true;
  arrive_together(head.meeting, later(head.ready, state.free_at));
}

/// Streams that become free are only noted, because what they hold may end at once as well.
void LaneReplayer::arrive_together(std::uint32_t id, const LaneTimes& start) {
  LaneMeeting& meeting = meetings_[id];
  // The latest member decides in every lane by itself.
  meeting.start = meeting.together == 0 ? start : later(meeting.start, start);
  if (++meeting.together < map_.calls[meeting.call].arrivals) return;
  const LaneMeeting::Member& first = meeting.members.front();
  const LaneTimes end = meeting.start + alone(first.rank, first.call);
  for (const LaneMeeting::Member& member : meeting.members) {
    LaneRank& rank = ranks_[member.rank];
    LaneStream& state = rank.stream[static_cast<std::size_t>(member.stream)];
    state.busy = false;
    state.free_at = end;
    if (!state.together.empty()) free_streams_.emplace_back(member.rank, member.stream);
    LaneSlot& slot = rank.slots[member.slot];
    // The slot was issued again: its end belongs to a newer call.
    if (slot.issue != member.issue) continue;
    slot.start = meeting.start;
    slot.end.set(end);
    if (rank.waiting == Waiting::slot && rank.awaited == member.slot) wake(member.rank);
  }
  free_meeting(id);
}

void LaneReplayer::pump(RankIndex r, Stream stream, std::size_t lane) {
  LaneStream& state = ranks_[r].stream[static_cast<std::size_t>(stream)];
  if (state.busy_in[lane] || state.apart.empty(lane)) return;
  const LaneIssue& head = state.apart.front(lane);
  state.busy_in[lane] = true;
  arrive(head.meeting, lane, std::max(head.ready[lane], state.free_at[lane]));
}

void LaneReplayer::arrive(std::uint32_t id, std::size_t lane, double start) {
  LaneMeeting& meeting = meetings_[id];
  const NetworkCall& call = map_.calls[meeting.call];
  // Members arrive lane by lane, and each lane begins when all of its own have come.
  meeting.start[lane] = std::max(meeting.start[lane], start);
  if (++meeting.arrived[lane] < call.arrivals) return;
  if (call.lone) {
    const LaneMeeting::Member& first = meeting.members.front();
    finish(id, lane, meeting.start[lane] + alone(first.rank, first.call));
  } else {
    post(lane, meeting.start[lane], tag_of(Tag::meeting, id));
  }
}

void LaneReplayer::begin_phase(std::uint32_t id, std::size_t lane, double now) {
  LaneMeeting& meeting = meetings_[id];
  const NetworkCall& call = map_.calls[meeting.call];
  if (meeting.phase[lane] == call.phases.size()) {
    finish(id, lane, now);
    return;
  }
  const auto& flows = call.phases[meeting.phase[lane]];
  meeting.running[lane] = static_cast<std::uint32_t>(flows.size());
  // Tags are those of the plain replay, so that ends of one date come in the same order.
  const std::uint64_t part = tag_of(Tag::phase_part, id);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const NetworkFlow& flow = flows[i];
    if (flow.path.empty()) {
      post(lane, now + flow.latency + flow.alone, part);
    } else {
      start_flow(lane, flow, tag_of(Tag::phase_part, id + (static_cast<std::uint64_t>(i) << 32U)),
                 part);
    }
  }
}

void LaneReplayer::part_ended(std::uint32_t id, std::size_t lane, double now) {
  LaneMeeting& meeting = meetings_[id];
  if (--meeting.running[lane] > 0) return;
  ++meeting.phase[lane];
  begin_phase(id, lane, now);
}

/// Its streams go on behind it, the first of them first.
void LaneReplayer::finish(std::uint32_t id, std::size_t lane, double end) {
  LaneMeeting& meeting = meetings_[id];
  for (const LaneMeeting::Member& member : meeting.members) {
    LaneRank& rank = ranks_[member.rank];
    LaneStream& state = rank.stream[static_cast<std::size_t>(member.stream)];
    state.apart.pop_front(lane);
    state.busy_in[lane] = false;
    state.free_at[lane] = end;
    LaneSlot& slot = rank.slots[member.slot];
    if (slot.issue != member.issue) continue;
    slot.start[lane] = meeting.start[lane];
    slot.end.set(lane, end);
    if (rank.waiting == Waiting::slot && rank.awaited == member.slot)
      known(member.rank, lane, slot.end);
  }
  // Reversed: the last one noted is the first one taken.
  std::for_each(meeting.members.rbegin(), meeting.members.rend(),
                [&](const LaneMeeting::Member& m) {
                  lane_streams_.push_back({m.rank, m.stream, lane});
                });
  if (--meeting.lanes_left == 0) free_meeting(id);
  pump_lanes();
}

/// What a stream holds may end at once and free more streams, as many as collectives are queued.
/// Those are only noted, on top of what is left: the order is that of calls inside each other.
void LaneReplayer::pump_lanes() {
  // Calls inside each other only note streams; the outermost works them off.
  if (pumping_) return;
  pumping_ = true;
  while (!lane_streams_.empty()) {
    const LaneStreamAt next = lane_streams_.back();
    lane_streams_.pop_back();
    pump(next.rank, next.stream, next.lane);
  }
  pumping_ = false;
}

void LaneReplayer::send(RankIndex r, const StepOp& op) {
  LaneRank& rank = ranks_[r];
  LaneSend sent{op.index, {}};
  const LaneTimes issued = issue(rank, rank.program->send_issue);
  sent.ready = later(rank.clocks.device, issued);
  const RankIndex peer = map_.hop(op.channel, r).peer;
  LaneMessage& message = ranks_[peer].inbox.emplace_back(LaneMessage{op.index, {}});
  // A transfer that meets nothing arrives by arithmetic in all lanes at once.
  if (!meets(r, op.channel)) {
    send_alone(r, op.channel, sent, message.arrival);
    if (ranks_[peer].waiting == Waiting::message && ranks_[peer].awaited == op.index) wake(peer);
    return;
  }
  // Every lane has its own date for it.
  for (std::uint32_t& pending : rank.sends_pending) ++pending;
  rank.channel[static_cast<std::size_t>(op.channel)].queue.push_back(sent);
  for (std::size_t l = 0; l < lanes; ++l) pump_channel(r, op.channel, l);
}

/// What can meet nothing ends by arithmetic.
void LaneReplayer::send_alone(RankIndex r, Channel channel, const LaneSend& sent,
                              LaneDate& arrival) {
  LaneRank& rank = ranks_[r];
  LaneChannel& c = rank.channel[static_cast<std::size_t>(channel)];
  const NetworkFlow& flow = map_.hop(channel, r).flow;
  const LaneTimes start = later(sent.ready, c.free_at);
  // A latency in place of the network leaves the channel at once.
  if (input_.boundary_latency) {
    c.free_at = start;
    arrival.set(start + input_.boundary_latency->value());
  } else {
    c.free_at = start + flow.alone;
    arrival.set(c.free_at + flow.latency);
  }
  rank.last_send_arrival = later(rank.last_send_arrival, arrival.at);
}

void LaneReplayer::pump_channel(RankIndex r, Channel channel, std::size_t lane) {
  LaneChannel& c = ranks_[r].channel[static_cast<std::size_t>(channel)];
  if (c.busy[lane] || c.queue.empty(lane)) return;
  c.busy[lane] = true;
  const std::uint64_t tag =
      tag_of(Tag::transfer, channels * r + static_cast<std::uint64_t>(channel));
  post(lane, std::max(c.queue.front(lane).ready[lane], c.free_at[lane]), tag);
}

void LaneReplayer::transfer(RankIndex r, Channel channel, std::size_t lane) {
  const std::uint64_t tag =
      tag_of(Tag::transfer, channels * r + static_cast<std::uint64_t>(channel));
  start_flow(lane, map_.hop(channel, r).flow, tag, tag);
}

void LaneReplayer::bytes_ended(RankIndex r, Channel channel, std::size_t lane, double end) {
  LaneRank& rank = ranks_[r];
  LaneChannel& c = rank.channel[static_cast<std::size_t>(channel)];
  const NetworkHop& to = map_.hop(channel, r);
  const std::uint32_t number = c.queue.front(lane).message;
  const double arrival = end + to.flow.latency;
  c.queue.pop_front(lane);
  c.busy[lane] = false;
  c.free_at[lane] = end;
  rank.last_send_arrival[lane] = std::max(rank.last_send_arrival[lane], arrival);
  if (--rank.sends_pending[lane] == 0 && rank.waiting == Waiting::send) {
    // The rank may go on in this lane once its last send has arrived.
    bound_by(rank, lane, rank.last_send_arrival[lane]);
    if (std::ranges::all_of(rank.sends_pending, [](std::uint32_t n) { return n == 0; })) wake(r);
  }
  LaneRank& peer = ranks_[to.peer];
  const auto message = std::ranges::find(peer.inbox, number, &LaneMessage::number);
  message->arrival.set(lane, arrival);
  if (peer.waiting == Waiting::message && peer.awaited == number)
    known(to.peer, lane, message->arrival);
}

void LaneReplayer::event(std::size_t lane, double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  switch (static_cast<Tag>(tag % tag_kinds)) {
    case Tag::meeting:
      begin_phase(static_cast<std::uint32_t>(index), lane, now);
      break;
    case Tag::phase_part:
      part_ended(static_cast<std::uint32_t>(index), lane, now);
      break;
    case Tag::transfer:
      transfer(static_cast<RankIndex>(index / channels),
               Channel{static_cast<std::uint8_t>(index % channels)}, lane);
      break;
    case Tag::mark:  // lanes do not yield
      break;
  }
}

void LaneReplayer::flow_end(std::size_t lane, double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  if (static_cast<Tag>(tag % tag_kinds) == Tag::phase_part) {
    const auto id = static_cast<std::uint32_t>(index);
    const LaneMeeting& meeting = meetings_[id];
    const NetworkFlow& flow = map_.calls[meeting.call].phases[meeting.phase[lane]][index >> 32];
    if (flow.latency > 0) {
      post(lane, now + flow.latency, tag_of(Tag::phase_part, id));
    } else {
      part_ended(id, lane, now);
    }
  } else {
    const auto r = static_cast<RankIndex>(index / channels);
    const Channel channel{static_cast<std::uint8_t>(index % channels)};
    bytes_ended(r, channel, lane, now);
    pump_channel(r, channel, lane);
  }
}

/// A rank that was held back by other lanes must not come too late for its own, nor at the date at
/// which its engine stands: what happened there first, it cannot know.
void LaneReplayer::post(std::size_t lane, double time, std::uint64_t tag) {
  // Inside an event its own date is the present; only posts from outside can come too late.
  Lane& own = *lanes_[lane];
  if (!own.in_event && time <= own.engine.now() && own.engine.events() > 0) own.certain = false;
  own.engine.post(time, tag);
}

/// Flows that come to a link together have an order of their own. Where they come to it at the same
/// date one after another, posting decides who is first, and that may be in another order here:
/// rates are sums over the flows of a link, in order. Where they have no link in common, no sum is
/// another one.
void LaneReplayer::start_flow(std::size_t lane, const NetworkFlow& flow, std::uint64_t tag,
                              std::uint64_t starter) {
  Lane& own = *lanes_[lane];
  // Only flows that begin at one date can come in another order.
  if (own.engine.now() != own.last_start) own.started.clear();
  own.last_start = own.engine.now();
  const std::uint64_t entries = own.engine.entries();
  for (const Lane::Started& other : own.started) {
    // Flows of one starter, or of one entry, have a fixed order.
    if (other.starter == starter || other.entries == entries) continue;
    const bool shared = std::ranges::find(flow.path, other.link, &LinkUse::link) != flow.path.end();
    own.certain = own.certain && !shared;
  }
  for (const LinkUse& use : flow.path) own.started.push_back({use.link, starter, entries});
  own.engine.start_flow(flow.path, flow.bytes, tag);
}

}  // namespace stepcast
