#include "lane_queue.hpp"

#include <bit>

namespace stepcast {
namespace {

constexpr std::uint32_t all_lanes = (1U << lanes) - 1;
constexpr std::uint32_t bit(std::size_t lane) { return 1U << lane; }

bool all_by(const LaneTimes& dates, const LaneTimes& limits) {
  bool all = true;
  for (std::size_t l = 0; l < lanes; ++l) all &= dates[l] <= limits[l];
  return all;
}

}  // namespace

/// What ended in all lanes before the host got here can hold up nobody.
void LaneQueue::run(LaneClocks& clocks, const Segment& segment, const LaneSpeeds& speeds) {
  if (segment.size() == 0) return;
  const std::uint32_t loops = binding(clocks.main, speeds.host, segment.size());
  const LaneClocks entry = clocks;
  for (std::size_t l = 0; l < lanes; ++l) {
    clocks.set(l, (loops & bit(l)) != 0
                      ? operator_loop(l, entry.of(l), segment, speeds.of(l))
                      : segment.matrix(speeds.of(l)).apply(entry.of(l)));
  }
  runs_.erase_begin(gate_);
  gate_ = 0;
  while (!runs_.empty() && all_by(runs_.front().device_end, entry.main)) runs_.pop_front();
  if (runs_.full()) runs_.set_capacity(std::max<std::size_t>(4, 2 * runs_.capacity()));
  runs_.push_back({issued_, issued_ + segment.size(), &segment, loops, clocks.device, entry,
                   speeds.device});
  issued_ += segment.size();
}

/// The lanes in which the queue may hold the host up, as HostQueue::may_bind finds them.
std::uint32_t LaneQueue::binding(const LaneTimes& main, const LaneTimes& host,
                                 std::uint64_t size) {
  if (issued_ + size <= depth_) return 0;
  if (size > depth_) {
    gate_ = runs_.size();
    return all_lanes;
  }
  const std::uint64_t waited_for = issued_ + size - 1 - depth_;
  while (gate_ < runs_.size() && runs_[gate_].end <= waited_for) ++gate_;
  if (gate_ == runs_.size() || waited_for < runs_[gate_].first) return 0;
  Run& gate = runs_[gate_];
  std::uint32_t found = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    if (gate.device_end[l] <= main[l]) continue;
    recall_ends(l, gate, host[l]);
    if (end_of(l, waited_for) > main[l]) found |= bit(l);
  }
  return found;
}

Clocks LaneQueue::operator_loop(std::size_t lane, Clocks clocks, const Segment& segment,
                                const SpeedFactors& speed) {
  reserve_ends();
  for (std::size_t i = 0; i < gate_; ++i) recall_ends(lane, runs_[i], speed.host);
  std::uint64_t index = issued_;
  for (const OperatorCost& op : segment.operators()) {
    if (index >= depth_) clocks.main = std::max(clocks.main, end_of(lane, index - depth_));
    clocks = issue_operator(clocks, op, speed);
    end_of(lane, index++) = clocks.device;
  }
  return clocks;
}

void LaneQueue::recall_ends(std::size_t lane, Run& run, double host) {
  if ((run.ends_known & bit(lane)) != 0) return;
  run.ends_known |= bit(lane);
  reserve_ends();
  Clocks clocks = run.entry.of(lane);
  std::uint64_t index = run.first;
  for (const OperatorCost& op : run.segment->operators()) {
    clocks = issue_operator(clocks, op, {run.speed[lane], host});
    if (index + depth_ >= issued_) end_of(lane, index) = clocks.device;
    ++index;
  }
}

void LaneQueue::reserve_ends() {
  if (!ends_.empty()) return;
  ring_ = std::bit_ceil(depth_);
  ends_.resize(lanes * ring_);
}

}  // namespace stepcast
