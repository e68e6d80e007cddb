#include <algorithm>

#include "replayer.hpp"

namespace stepcast {

/// Charges the host with posting the receive, then waits for the message of this unit.
bool Replayer::receive(RankIndex r, const Unit& unit) {
  RankState& rank = ranks_[r];
  const Stage stage = rank.stage;
  const auto source = source_of(input_.shape, unit, stage);
  if (!source || source->stage == stage) return true;
  // The ideal without a bubble: inputs are there, posting them still costs the host.
  if (!input_.await_inputs) {
    rank.issue(program(r).send_issue);
    return true;
  }
  const Message wanted{unit.kind != UnitKind::forward, unit.micro_batch, unit.chunk, unit.slice};
  // Several messages of a channel may be on their way; the unit's own is wanted.
  const auto found =
      std::ranges::find_if(rank.inbox, [&](const Message& m) { return m.same_unit(wanted); });
  if (found == rank.inbox.end()) {
    rank.waiting = Waiting::message;
    return false;
  }
  std::uint32_t posted = Recording::none;
  issue(r, program(r).send_issue, false, posted);
  idle(r, found->arrival, found->start, ExposedKind::pipeline, {}, true, found->recorded);
  rank.inbox.erase(found);
  return true;
}

/// Issues the send of this unit, if it has one. A chunk of the same stage reads the output where it
/// is.
void Replayer::send(RankIndex r, const Unit& unit) {
  RankState& rank = ranks_[r];
  const Stage stage = rank.stage;
  const auto reader = reader_of(input_.shape, unit, stage);
  if (!reader || reader->stage == stage) return;
  const bool output = unit.kind == UnitKind::forward;
  const Channel channel = channel_of(input_.shape.placement, unit.chunk, output);
  std::uint32_t entry = Recording::none;
  // The output is there and the host has issued the send: the later of the two.
  const double ready =
      std::max(rank.clocks.device, issue(r, program(r).send_issue, true, entry).at);
  ++tasks_;
  ++rank.sends_pending;
  sends(r, channel)
      .queue.push_back({{!output, unit.micro_batch, reader->chunk, unit.slice}, ready, entry});
  pump_channel(r, channel);
}

/// With blocking transfers the compute stream waits until what it sent has arrived.
bool Replayer::settle_send(RankIndex r) {
  RankState& rank = ranks_[r];
  if (input_.p2p == ScheduleSpec::PointToPoint::overlapped) return true;
  if (rank.sends_pending > 0) {
    rank.waiting = Waiting::send;
    return false;
  }
  idle(r, rank.last_send_arrival, rank.last_send_start, ExposedKind::pipeline, {}, true,
       rank.last_send);
  return true;
}

/// Starts the head of the channel when the transfer before it has released it.
void Replayer::pump_channel(RankIndex r, Channel channel) {
  ChannelState& c = sends(r, channel);
  while (!c.busy && !c.queue.empty()) {
    const double start = std::max(c.queue.front().ready, c.free_at);
    c.busy = true;
    // What can meet others begins at its date on the engine; the rest is arithmetic.
    const bool shared = !input_.boundary_latency && !map_.hop(channel, r).flow.path.empty();
    if (shared) {
      engine_.post(start, transfer_tag(r, channel));
    } else {
      transfer(r, channel, start);
    }
  }
}

/// Ranks are many more than a cache holds, and events take them in turns: what both ends need is
/// asked for some events ahead, and what that points to right before. The end of a transfer mostly
/// lets its receiver go on.
void Replayer::foresee(const Coming& what) {
  // Only transfers touch two ranks that may lie far apart in memory.
  if (!crowded_ || static_cast<Tag>(what.tag % tag_kinds) != Tag::transfer) return;
  const std::uint64_t index = what.tag / tag_kinds;
  const auto r = static_cast<RankIndex>(index / channels);
  const std::size_t channel = index % channels;
  const RankState& sender = ranks_[r];
  const RankState& receiver = ranks_[peers_[channel][r]];
  if (what.next) {
    sender.log.prefetch();
    sender.channel[channel].queue.prefetch();
    receiver.log.prefetch();
    if (what.flow_end) receiver.prefetch_lists();
  } else {
    sender.prefetch_transfer();
    __builtin_prefetch(&map_.hops[channel][r]);
    what.flow_end ? receiver.prefetch() : receiver.prefetch_transfer();
  }
}

/// Both ends note the transfer, since either may wait while its bytes move.
void Replayer::transfer(RankIndex r, Channel channel, double start) {
  ChannelState& c = sends(r, channel);
  const NetworkHop& to = map_.hop(channel, r);
  c.queue.front().message.start = start;
  if (recorder_) record_transfer(r, channel, start);
  c.ticket = ranks_[r].log.open(start, ExposedKind::pipeline);
  c.peer_ticket = ranks_[to.peer].log.open(start, ExposedKind::pipeline);
  unsettled_ += 2;
  // A latency that replaces the network moves no bytes.
  if (input_.boundary_latency) {
    bytes_ended(r, channel, start);
  } else if (to.flow.path.empty()) {
    lone_flows_ += to.flow.bytes > 0 ? 1 : 0;
    bytes_ended(r, channel, start + to.flow.alone);
  } else {
    engine_.start_flow(to.flow.path, to.flow.bytes, transfer_tag(r, channel));
  }
}

/// The receiver is a member from the start, because it has posted its receive beforehand.
void Replayer::record_transfer(RankIndex r, Channel channel, double start) {
  const RankIndex peer = map_.hop(channel, r).peer;
  if (!recorder_->records(r) && !recorder_->records(peer)) return;
  ChannelState::Pending& head = sends(r, channel).queue.front();
  const Message& message = head.message;
  const Unit reader{message.gradient ? UnitKind::backward : UnitKind::forward, message.micro_batch,
                    message.chunk, message.slice};
  head.message.recorded = recorder_->begin_transfer(channel, reader, start);
  const std::size_t lane = streams + static_cast<std::size_t>(channel);
  constexpr std::uint32_t none = Recording::none;
  recorder_->member(head.message.recorded, {r, none, head.entry, none, head.ready}, lane);
  recorder_->member(head.message.recorded, {peer, none, none, none, start}, lane);
}

/// The bytes are through: the channel is free, the message arrives one latency later.
void Replayer::bytes_ended(RankIndex r, Channel channel, double end) {
  ChannelState& c = sends(r, channel);
  RankState& rank = ranks_[r];
  const NetworkHop& to = map_.hop(channel, r);
  const double latency =
      input_.boundary_latency ? input_.boundary_latency->value() : to.flow.latency;
  Message message = c.queue.front().message;
  message.arrival = end + latency;
  c.queue.pop_front();
  c.busy = false;
  c.free_at = end;
  rank.log.close(c.ticket, message.arrival);
  if (recorder_) recorder_->moved(channel, r, message.start, end);
  if (recorder_ && message.recorded != Recording::none)
    recorder_->end(message.recorded, end, message.arrival);
  // Of several channels the one that arrives last is what a blocking stage waits for.
  if (message.arrival >= rank.last_send_arrival) rank.last_send = message.recorded;
  rank.last_send_start = message.start;
  rank.last_send_arrival = std::max(rank.last_send_arrival, message.arrival);
  if (--rank.sends_pending == 0 && rank.waiting == Waiting::send) wake(r);

  RankState& peer = ranks_[to.peer];
  peer.log.close(c.peer_ticket, message.arrival);
  // Without awaiting inputs nobody reads the inbox, which would only grow.
  if (input_.await_inputs) peer.inbox.push_back(message);
  if (peer.waiting == Waiting::message) wake(to.peer);
}

}  // namespace stepcast
