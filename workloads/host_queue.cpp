#include <bit>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/segment.hpp"

namespace stepcast {

HostQueue::HostQueue(std::uint64_t depth) : depth_{depth} {
  expects(depth >= 1, "the host queue holds at least one operator");
}

Clocks HostQueue::run(const Clocks& clocks, const Segment& segment, const SpeedFactors& speed) {
  const std::uint64_t size = segment.size();
  if (size == 0) return clocks;
  const bool loop = may_bind(clocks, size);
  const Clocks after =
      loop ? operator_loop(clocks, segment, speed) : segment.matrix(speed).apply(clocks);
  runs_.push_back({issued_, issued_ + size, &segment, speed, clocks, after.device, loop});
  issued_ += size;
  forget_before_gate();
  return after;
}

// Ends never decrease, so the run is free when the last end that it has to wait for is no later
// than its entry.
bool HostQueue::may_bind(const Clocks& clocks, std::uint64_t size) {
  if (issued_ + size <= depth_) return false;
  if (size > depth_) {
    gate_ = runs_.size();
    return true;
  }
  const std::uint64_t waited_for = issued_ + size - 1 - depth_;
  while (runs_[gate_].end <= waited_for) ++gate_;
  if (runs_[gate_].device_end <= clocks.main) return false;
  recall_ends(runs_[gate_]);
  return end_of(waited_for) > clocks.main;
}

Clocks HostQueue::operator_loop(Clocks clocks, const Segment& segment, const SpeedFactors& speed) {
  ++loops_;
  reserve_ends();
  for (std::size_t i = oldest_; i < gate_; ++i) recall_ends(runs_[i]);
  std::uint64_t index = issued_;
  for (const OperatorCost& op : segment.operators()) {
    if (index >= depth_) clocks.main = std::max(clocks.main, end_of(index - depth_));
    clocks = issue_operator(clocks, op, speed);
    end_of(index++) = clocks.device;
  }
  return clocks;
}

// A run that went through the matrix was not held up by the queue, so its ends follow from its
// entry alone.
void HostQueue::recall_ends(Run& run) {
  if (run.ends_known) return;
  run.ends_known = true;
  reserve_ends();
  Clocks clocks = run.entry;
  std::uint64_t index = run.first;
  for (const OperatorCost& op : run.segment->operators()) {
    clocks = issue_operator(clocks, op, run.speed);
    // Those out of reach share their slots with newer operators.
    if (index + depth_ >= issued_) end_of(index) = clocks.device;
    ++index;
  }
}

// Most queues never bind, so there is no ring before the first question.
void HostQueue::reserve_ends() {
  if (ends_.empty()) ends_.resize(std::bit_ceil(depth_));
}

// Later operators wait for operators from the gate on. Erasing half at a time keeps this O(1) per
// run.
void HostQueue::forget_before_gate() {
  oldest_ = gate_;
  if (2 * oldest_ <= runs_.size()) return;
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  gate_ = oldest_ = 0;
}

}  // namespace stepcast
