#include <cmath>

#include "lane_replayer.hpp"
#include "stepcast/base/random.hpp"
#include "stepcast/sim/replay/held_cores.hpp"

// What ranks do, in all lanes together. Each expression is that of the same name in Replayer, so
// that each lane rounds as a replay of its own.
namespace stepcast {
namespace {

/// Device time until a rank is felt again is counted at factor 1; draws may shorten it.
constexpr double surely_ahead = 0.5;

}  // namespace

/// Who was woken last goes on first: ranks that meet each other often stay in the cache until all
/// that they can do is done.
void LaneReplayer::work() {
  while (!ready_.empty() || !free_streams_.empty()) {
    if (!free_streams_.empty()) {
      const auto [r, stream] = free_streams_.back();
      free_streams_.pop_back();
      pump_together(r, stream);
    } else {
      const RankIndex r = ready_.back();
      ready_.pop_back();
      advance(r);
    }
  }
}

void LaneReplayer::advance(RankIndex r) {
  LaneRank& rank = ranks_[r];
  rank.waiting = Waiting::nothing;
  const std::vector<StepOp>& ops = rank.code->ops;
  for (; rank.pc < ops.size(); ++rank.pc)
    if (!execute(r, ops[rank.pc])) return;
  rank.waiting = Waiting::done;
  ++done_;
  // The step ends with the last rank, lane by lane.
  end_ = later(end_, rank.clocks.device);
}

/// False when the rank has to wait first.
bool LaneReplayer::execute(RankIndex r, const StepOp& op) {
  LaneRank& rank = ranks_[r];
  switch (op.kind) {
    case StepOp::Kind::compute:
      compute(rank, op.index);
      return true;
    case StepOp::Kind::communicate:
      communicate(r, op);
      return true;
    case StepOp::Kind::wait:
      return wait_slot(rank, op.slot);
    case StepOp::Kind::sync:
      synchronise(rank);
      return true;
    case StepOp::Kind::sync_of_copy:
      rank.clocks.main = later(rank.clocks.main, rank.copied) + input_.host.synchronise.value();
      return true;
    case StepOp::Kind::copy:
      rank.copied = rank.clocks.device;
      return true;
    case StepOp::Kind::receive:
      return receive(rank, op.index);
    case StepOp::Kind::send:
      send(r, op);
      return true;
    case StepOp::Kind::settle:
      return settle(rank);
  }
  return true;
}

LaneTimes LaneReplayer::jitter(LaneRank& rank) {
  // The same counter as in the plain replay, one seed per lane.
  LaneTimes factor;
  normal_numbers(seeds_, rank.id.value, jitter_stream, rank.segments_run++, factor.at);
  const double mean = sigma_ * sigma_ / 2;
  for (double& f : factor.at) f = std::exp(sigma_ * f - mean);
  return factor;
}

void LaneReplayer::compute(LaneRank& rank, std::uint32_t index) {
  const Segment& segment = rank.program->segment(index, rank.variant);
  LaneSpeeds speeds = rank.speeds;
  const LaneTimes drawn = jitter(rank);
  for (std::size_t l = 0; l < lanes; ++l) speeds.device[l] *= drawn[l];
  rank.worked = rank.worked + speeds.device * segment.device_time();
  // A host that costs nothing leaves the matrix of the segment.
  if (!host_is_free_) {
    rank.queue.run(rank.clocks, segment, speeds);
    return;
  }
  for (std::size_t l = 0; l < lanes; ++l)
    rank.clocks.set(l, segment.matrix(speeds.of(l)).apply(rank.clocks.of(l)));
}

LaneTimes LaneReplayer::issue(LaneRank& rank, const OperatorCost& cost) {
  LaneClocks& c = rank.clocks;
  c.main = c.main + rank.speeds.host * cost.main;
  c.worker = later(c.worker, c.main) + rank.speeds.host * cost.worker;
  return c.worker + cost.launch;
}

void LaneReplayer::synchronise(LaneRank& rank) {
  for (std::size_t l = 0; l < lanes; ++l)
    rank.clocks.set(l, host_sync(rank.clocks.of(l), input_.host.synchronise.value()));
}

bool LaneReplayer::wait_slot(LaneRank& rank, std::uint32_t slot) {
  const LaneSlot& state = rank.slots[slot];
  // Known in every lane, or the rank waits: its code goes on in all lanes together.
  if (state.end.unknown > 0) {
    wait_for(rank, Waiting::slot, slot);
    return false;
  }
  LaneTimes& now = rank.clocks.device;
  // Cores that the call held are paid for where it is awaited.
  for (std::size_t l = 0; state.held > 0 && l < lanes; ++l)
    now[l] += taken_by({state.held, state.start[l], state.end.at[l], state.device[l],
                        rank.worked[l] - state.worked[l]},
                       now[l]);
  now = later(now, state.end.at);
  return true;
}

bool LaneReplayer::receive(LaneRank& rank, std::uint32_t message) {
  const auto found = std::ranges::find(rank.inbox, message, &LaneMessage::number);
  if (found == rank.inbox.end() || found->arrival.unknown > 0) {
    wait_for(rank, Waiting::message, message);
    return false;
  }
  issue(rank, rank.program->send_issue);
  rank.clocks.device = later(rank.clocks.device, found->arrival.at);
  rank.inbox.erase(found);
  return true;
}

bool LaneReplayer::settle(LaneRank& rank) {
  if (std::ranges::any_of(rank.sends_pending, [](std::uint32_t n) { return n > 0; })) {
    wait_for(rank, Waiting::send, 0);
    return false;
  }
  rank.clocks.device = later(rank.clocks.device, rank.last_send_arrival);
  return true;
}

void LaneReplayer::wait_for(LaneRank& rank, Waiting what, std::uint32_t which) {
  rank.waiting = what;
  rank.awaited = which;
  // Listed once, however often it waits.
  if (std::exchange(rank.held, true)) return;
  held_.push_back(static_cast<RankIndex>(&rank - ranks_.data()));
}

/// Where a rank could go on if it were not for other lanes, its lane must not get ahead of it.
void LaneReplayer::bound_by(const LaneRank& rank, std::size_t lane, double known) {
  // Half of its work at factor 1 before it is felt: draws hardly ever halve a run of segments.
  const double felt =
      std::max(rank.clocks.device[lane], known) + surely_ahead * rank.code->ahead[rank.pc];
  lanes_[lane]->bound = std::min(lanes_[lane]->bound, felt);
}

void LaneReplayer::refresh_bounds() {
  // Bounds only tighten while engines run, so that they are made anew before each round.
  for (auto& lane : lanes_) lane->bound = unknown_date;
  std::erase_if(held_, [&](RankIndex r) {
    LaneRank& rank = ranks_[r];
    const LaneDate* date = nullptr;
    if (rank.waiting == Waiting::slot) date = &rank.slots[rank.awaited].end;
    if (rank.waiting == Waiting::message) {
      const auto found = std::ranges::find(rank.inbox, rank.awaited, &LaneMessage::number);
      if (found != rank.inbox.end()) date = &found->arrival;
    }
    if (rank.waiting == Waiting::send) {
      for (std::size_t l = 0; l < lanes; ++l)
        if (rank.sends_pending[l] == 0) bound_by(rank, l, rank.last_send_arrival[l]);
    }
    const bool waits = rank.waiting != Waiting::nothing && rank.waiting != Waiting::done;
    rank.held = waits;
    // Known in some lanes but not in all: those lanes are the ones to hold back.
    if (date && date->unknown < lanes) {
      for (std::size_t l = 0; l < lanes; ++l)
        if (date->at[l] < unknown_date) bound_by(rank, l, date->at[l]);
    }
    return !waits;
  });
}

/// Something that this rank may wait for has become known in a lane.
void LaneReplayer::known(RankIndex r, std::size_t lane, const LaneDate& date) {
  bound_by(ranks_[r], lane, date.at[lane]);
  // The last lane lets the rank go on.
  if (date.unknown == 0) wake(r);
}

}  // namespace stepcast
