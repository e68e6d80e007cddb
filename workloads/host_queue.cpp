#include <bit>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/segment.hpp"

namespace stepcast {

HostQueue::HostQueue(std::uint64_t depth) : depth_{depth} {
  expects(depth >= 1, "the host queue holds at least one operator");
}

Clocks HostQueue::run(const Clocks& clocks, const Segment& segment, const SpeedFactors& speed) {
  if (segment.size() == 0) return clocks;
  const bool loop = may_bind(clocks, segment.size());
  const auto issue = [&speed](const Clocks& now, const OperatorCost& op) {
    return issue_operator(now, op, speed);
  };
  const Clocks after =
      loop ? operator_loop(clocks, segment, issue) : segment.matrix(speed).apply(clocks);
  remember({issued_, loop, &segment, speed, clocks, after.device});
  return after;
}

Clocks HostQueue::run(const Clocks& clocks, const Segment& segment, double host_factor,
                      const EndOfWork& end_of) {
  if (segment.size() == 0) return clocks;
  may_bind(clocks, segment.size());
  const auto issue = [&](const Clocks& now, const OperatorCost& op) {
    const double main = now.main + host_factor * op.main;
    const double worker = std::max(now.worker, main) + host_factor * op.worker;
    return Clocks{main, worker, end_of(std::max(now.device, worker + op.launch), op)};
  };
  const Clocks after = operator_loop(clocks, segment, issue);
  remember({issued_, true, &segment, {}, clocks, after.device});
  return after;
}

// Later operators wait for operators from the gate on, and never for what ended before the host got
// here: the rest is dropped. Where the ring has no end for a dropped operator it has an earlier
// one.
void HostQueue::remember(const Run& run) {
  runs_.erase_begin(gate_);
  gate_ = 0;
  while (!runs_.empty() && runs_.front().device_end <= run.entry.main) runs_.pop_front();
  if (runs_.full()) runs_.set_capacity(std::max<std::size_t>(4, 2 * runs_.capacity()));
  runs_.push_back(run);
  issued_ = run.end();
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
  while (gate_ < runs_.size() && runs_[gate_].end() <= waited_for) ++gate_;
  if (gate_ == runs_.size() || waited_for < runs_[gate_].first ||
      runs_[gate_].device_end <= clocks.main) {
    return false;
  }
  recall_ends(runs_[gate_]);
  return end_of(waited_for) > clocks.main;
}

template <class Issue>
Clocks HostQueue::operator_loop(Clocks clocks, const Segment& segment, const Issue& issue) {
  ++loops_;
  reserve_ends();
  for (std::size_t i = 0; i < gate_; ++i) recall_ends(runs_[i]);
  std::uint64_t index = issued_;
  for (const OperatorCost& op : segment.operators()) {
    if (index >= depth_) clocks.main = std::max(clocks.main, end_of(index - depth_));
    clocks = issue(clocks, op);
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

void HostQueue::shift(double time) {
  for (Run& run : runs_) {
    run.entry = {run.entry.main + time, run.entry.worker + time, run.entry.device + time};
    run.device_end += time;
  }
  for (double& end : ends_) end += time;
}

void HostQueue::append_state(double origin, std::vector<double>& state) const {
  for (const Run& run : runs_) {
    state.push_back(static_cast<double>(issued_ - run.first));
    state.push_back(run.device_end - origin);
    state.push_back(static_cast<double>(run.segment->size()));
    state.push_back(run.segment->device_time());
    if (run.ends_known) {
      for (std::uint64_t i = run.first; i < run.end(); ++i) {
        if (i + depth_ >= issued_) state.push_back(ends_[i & (ends_.size() - 1)] - origin);
      }
    } else {
      for (const double clock : {run.entry.main, run.entry.worker, run.entry.device})
        state.push_back(clock - origin);
      state.push_back(run.speed.device);
      state.push_back(run.speed.host);
    }
  }
}

}  // namespace stepcast
