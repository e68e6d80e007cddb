#include <algorithm>

#include "replayer.hpp"

namespace stepcast {

/// Whether the unit has a neighbour that it sends to (or receives from).
bool Replayer::feeds(const PipelineShape& shape, const Unit& unit, Stage stage, bool sending) {
  const std::int64_t last = shape.stages * shape.chunks - 1;
  const std::int64_t here = virtual_stage(shape, unit.chunk, stage);
  const bool upward = (unit.kind == UnitKind::forward) == sending;
  return last > 0 && here != (upward ? last : 0);
}

/// Charges the host with posting the receive, then waits for the message of this unit.
bool Replayer::receive(RankIndex r, const Unit& unit) {
  RankState& rank = ranks_[r];
  if (!feeds(input_.shape, unit, map_.classes.stage[r], false)) return true;
  if (!input_.await_inputs) {
    rank.issue(program(r).send_issue);
    return true;
  }
  const Message wanted{unit.kind, unit.micro_batch, unit.chunk};
  const auto found =
      std::ranges::find_if(rank.inbox, [&](const Message& m) { return m.same_unit(wanted); });
  if (found == rank.inbox.end()) {
    rank.waiting = Waiting::message;
    return false;
  }
  std::uint32_t posted = Recording::none;
  issue(r, program(r).send_issue, false, posted);
  idle(r, found->arrival, found->start, ExposedKind::pipeline, 0, true, found->recorded);
  rank.inbox.erase(found);
  return true;
}

/// Issues the send of this unit, if it has one.
void Replayer::send(RankIndex r, const Unit& unit) {
  RankState& rank = ranks_[r];
  if (!feeds(input_.shape, unit, map_.classes.stage[r], true)) return;
  const bool forward = unit.kind == UnitKind::forward;
  std::uint32_t entry = Recording::none;
  const double ready = std::max(rank.clocks.device, issue(r, program(r).send_issue, true, entry));
  // The next virtual stage is the next stage with the same chunk, or the first with the next chunk.
  const auto last = static_cast<std::uint32_t>(input_.shape.stages - 1);
  Chunk chunk = unit.chunk;
  const std::uint32_t stage = map_.classes.stage[r].value;
  if (forward && stage == last) ++chunk.value;
  if (!forward && stage == 0) --chunk.value;
  ++tasks_;
  ++rank.sends_pending;
  channel(r, forward).queue.push_back({{unit.kind, unit.micro_batch, chunk}, ready, entry});
  pump_channel(r, forward);
}

/// With blocking transfers the compute stream waits until what it sent has arrived.
bool Replayer::settle_send(RankIndex r) {
  RankState& rank = ranks_[r];
  if (input_.p2p == ScheduleSpec::PointToPoint::overlapped) return true;
  if (rank.sends_pending > 0) {
    rank.waiting = Waiting::send;
    return false;
  }
  idle(r, rank.last_send_arrival, rank.last_send_start, ExposedKind::pipeline, 0, true,
       rank.last_send);
  return true;
}

/// Starts the head of the channel when the transfer before it has released it.
void Replayer::pump_channel(RankIndex r, bool forward) {
  ChannelState& c = channel(r, forward);
  while (!c.busy && !c.queue.empty()) {
    const double start = std::max(c.queue.front().ready, c.free_at);
    c.busy = true;
    const bool shared = !input_.boundary_latency && !hop(r, forward).flow.path.empty();
    if (shared) {
      engine_.post(start, tag_of(Tag::transfer, 2 * r + (forward ? 1U : 0U)));
    } else {
      transfer(r, forward, start);
    }
  }
}

void Replayer::transfer(RankIndex r, bool forward, double start) {
  ChannelState& c = channel(r, forward);
  const NetworkFlow& flow = hop(r, forward).flow;
  c.queue.front().message.start = start;
  if (recorder_) record_transfer(r, forward, start);
  c.ticket = ranks_[r].log.open(start, ExposedKind::pipeline);
  c.peer_ticket = ranks_[hop(r, forward).peer].log.open(start, ExposedKind::pipeline);
  unsettled_ += 2;
  if (input_.boundary_latency) {
    bytes_ended(r, forward, start);
  } else if (flow.path.empty()) {
    lone_flows_ += flow.bytes > 0 ? 1 : 0;
    bytes_ended(r, forward, start + flow.alone);
  } else {
    engine_.start_flow(flow.path, flow.bytes, tag_of(Tag::transfer, 2 * r + (forward ? 1U : 0U)));
  }
}

void Replayer::record_transfer(RankIndex r, bool forward, double start) {
  const RankIndex peer = hop(r, forward).peer;
  if (!recorder_->records(r) && !recorder_->records(peer)) return;
  ChannelState::Pending& head = channel(r, forward).queue.front();
  const Message& message = head.message;
  head.message.recorded =
      recorder_->begin_transfer(forward, {message.kind, message.micro_batch, message.chunk}, start);
  const std::size_t lane = streams + (forward ? 0 : 1);
  recorder_->member(head.message.recorded, {r, Recording::none, head.entry, head.ready}, lane);
  recorder_->member(head.message.recorded, {peer, Recording::none, Recording::none, start}, lane);
}

/// The bytes are through: the channel is free, the message arrives one latency later.
void Replayer::bytes_ended(RankIndex r, bool forward, double end) {
  ChannelState& c = channel(r, forward);
  RankState& rank = ranks_[r];
  const NetworkHop& to = hop(r, forward);
  const double latency =
      input_.boundary_latency ? input_.boundary_latency->value() : to.flow.latency;
  Message message = c.queue.front().message;
  message.arrival = end + latency;
  c.queue.pop_front();
  c.busy = false;
  c.free_at = end;
  rank.log.close(c.ticket, message.arrival);
  if (recorder_ && message.recorded != Recording::none)
    recorder_->end(message.recorded, end, message.arrival);
  if (message.arrival >= rank.last_send_arrival) rank.last_send = message.recorded;
  rank.last_send_start = message.start;
  rank.last_send_arrival = std::max(rank.last_send_arrival, message.arrival);
  if (--rank.sends_pending == 0 && rank.waiting == Waiting::send) wake(r);

  RankState& peer = ranks_[to.peer];
  peer.log.close(c.peer_ticket, message.arrival);
  if (input_.await_inputs) peer.inbox.push_back(message);
  if (peer.waiting == Waiting::message) wake(to.peer);
}

}  // namespace stepcast
