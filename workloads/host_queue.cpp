#include "stepcast/workloads/host_queue.hpp"

#include <algorithm>
#include <bit>

#include "stepcast/base/errors.hpp"

namespace stepcast {

namespace {

/// So much room for starts is kept where there are none.
constexpr std::size_t few_starts = 8;

}  // namespace

HostQueue::HostQueue(std::uint64_t depth, bool compact) : depth_{depth}, compact_{compact} {
  expects(depth >= 1, "the host queue holds at least one operator");
}

Clocks HostQueue::run(const Clocks& clocks, const Segment& segment, const SpeedFactors& speed) {
  compile_stall_ = 0;
  if (segment.size() == 0) return clocks;
  const auto issue = [speed](const Clocks& now, const OperatorCost& op) {
    return issue_operator(now, op, speed);
  };
  // When the main thread would be here had it compiled nothing.
  const double prompt = clocks.main - compile_lag_.main;
  // The matrix is exact as long as the queue has room; operators are followed one by one where it
  // may be full, or where lags are asked for.
  const bool binds = may_bind(clocks, segment.size());
  const bool loop = binds || follows_;
  Clocks after = clocks;
  if (loop) after = operator_loop(clocks, segment, speed.host, issue);
  if (!binds) after = segment.matrix(speed).apply(clocks);
  forget(prompt);
  remember(segment.size(), loop, after.device);
  // From the entry the ends of its operators can be found later, should anyone ask.
  if (!loop) keep_start({next_ - 1, &segment, speed, clocks});
  return after;
}

Clocks HostQueue::run(const Clocks& clocks, const Segment& segment, double host_factor,
                      const EndOfWork& end_of) {
  compile_stall_ = 0;
  if (segment.size() == 0) return clocks;
  const double prompt = clocks.main - compile_lag_.main;
  // For the gate, which moves with the question.
  may_bind(clocks, segment.size());
  const auto issue = [&](const Clocks& now, const OperatorCost& op) {
    const double main = now.main + host_factor * op.main;
    const double worker = std::max(now.worker, main) + host_factor * op.worker;
    return Clocks{main, worker, end_of(std::max(now.device, worker + op.launch), op)};
  };
  const Clocks after = operator_loop(clocks, segment, host_factor, issue);
  forget(prompt);
  remember(segment.size(), true, after.device);
  return after;
}

// Later operators wait for operators from the gate on, and never for what ended before the host got
// here, or would have without what it compiled: the rest is dropped. Where the ring has no end for
// a dropped operator it has an earlier one.
void HostQueue::forget(double main) {
  while (gate_ < next_ && runs_[place(gate_)].device <= main) ++gate_;
  if (gate_ > first_) forgotten_ = runs_[place(gate_ - 1)].operators();
  first_ = gate_;
}

void HostQueue::remember(std::uint64_t operators, bool each_known, double device_end) {
  if (next_ - first_ == runs_.size()) reserve_runs();
  issued_ += operators;
  runs_[place(next_++)] = {issued_, each_known, device_end};
}

void HostQueue::prefetch() const {
  if (runs_.empty()) return;
  // Of a cache line.
  constexpr std::size_t per_line = 64 / sizeof(End);
  for (std::size_t run = 0; run < 4 * per_line; run += per_line)
    __builtin_prefetch(&runs_[place(first_ + run)]);
  __builtin_prefetch(&runs_[place(next_)], 1);
  if (ends_.empty()) return;
  for (std::size_t i = 0; i < 32; i += 8)
    __builtin_prefetch(&ends_[(issued_ + i) & (ends_.size() - 1)], 1);
}

// Ends never decrease, so the run is free when the last end that it has to wait for is no later
// than its entry.
bool HostQueue::may_bind(const Clocks& clocks, std::uint64_t size) {
  if (issued_ + size <= depth_) return false;
  // Longer than the queue: its last operators wait for its first.
  if (size > depth_) {
    gate_ = next_;
    return true;
  }
  // Nobody in the segment waits for a later operator.
  const std::uint64_t waited_for = issued_ + size - 1 - depth_;
  if (waited_for < forgotten_) return false;
  while (gate_ < next_ && runs_[place(gate_)].operators() <= waited_for) ++gate_;
  if (gate_ == next_ || runs_[place(gate_)].device <= clocks.main) return false;
  recall_ends(gate_);
  return end_of(waited_for) > clocks.main;
}

// A host that waits for the queue would have waited for the same operator without its lag. What no
// operator changes is read once, since writing an end could change anything to the compiler.
template <class Issue>
Clocks HostQueue::operator_loop(Clocks clocks, const Segment& segment, double host_factor,
                                const Issue& issue) {
  ++loops_;
  reserve_ends();
  for (std::uint64_t run = first_; run < gate_; ++run) recall_ends(run);
  double* const ends = ends_.data();
  const std::uint64_t mask = ends_.size() - 1, depth = depth_;
  const bool follows = follows_;
  std::uint64_t index = issued_;
  for (const OperatorCost& op : segment.operators()) {
    // An operator gets its place when that `depth` before it has ended.
    if (index >= depth) {
      const double end = ends[(index - depth) & mask];
      if (follows) compile_lag_.wait(clocks.main, end);
      clocks.main = std::max(clocks.main, end);
    }
    if (follows) compile_stall_ += compile_lag_.issue(Clocks{clocks}, op, host_factor);
    clocks = issue(clocks, op);
    ends[index++ & mask] = clocks.device;
  }
  return clocks;
}

// A run that went through the matrix was not held up by the queue, so its ends follow from its
// entry alone.
void HostQueue::recall_ends(std::uint64_t run) {
  End& end = runs_[place(run)];
  if (end.each_known()) return;
  end = {end.operators(), true, end.device};
  reserve_ends();
  const Start& start = start_of(run);
  Clocks clocks = start.entry;
  std::uint64_t index = first_operator(run);
  for (const OperatorCost& op : start.segment->operators()) {
    clocks = issue_operator(clocks, op, start.speed);
    // Those out of reach share their slots with newer operators.
    if (index + depth_ >= issued_) end_of(index) = clocks.device;
    ++index;
  }
  drop_starts();
}

void HostQueue::keep_start(const Start& start) {
  if (next_start_ - first_start_ == starts_.size()) make_room_for_start();
  start_at(next_start_++) = start;
}

// Near the front, because the oldest runs are asked first.
const HostQueue::Start& HostQueue::start_of(std::uint64_t run) {
  std::uint64_t number = first_start_;
  while (start_at(number).run < run) ++number;
  return start_at(number);
}

// Those that nobody asks for any more. A queue that binds has no use for their room.
void HostQueue::drop_starts() {
  while (first_start_ < next_start_) {
    const std::uint64_t run = start_at(first_start_).run;
    if (run >= first_ && !runs_[place(run)].each_known()) return;
    ++first_start_;
  }
  if (starts_.size() > few_starts) starts_ = {};
}

// Starts that would take more room than the ends of all operators in reach become those. When that
// happens does not follow from the clocks, so that queues whose states are compared do without.
void HostQueue::make_room_for_start() {
  drop_starts();
  if (next_start_ - first_start_ < starts_.size()) return;
  std::size_t size = std::max(few_starts, 2 * starts_.size());
  if (compact_ && size > few_starts && size * sizeof(Start) / sizeof(double) > depth_) {
    while (first_start_ < next_start_) recall_ends(start_at(first_start_).run);
    size = few_starts;
  }
  std::vector<Start> starts(size);
  for (std::uint64_t i = first_start_; i < next_start_; ++i) starts[i & (size - 1)] = start_at(i);
  starts_ = std::move(starts);
}

// Most queues never bind, so there is no ring before the first question.
void HostQueue::reserve_ends() {
  if (ends_.empty()) ends_.resize(std::bit_ceil(depth_));
}

void HostQueue::reserve_runs() {
  // A power of two, so that places follow by masking.
  const std::size_t size = std::max<std::size_t>(4, 2 * runs_.size());
  std::vector<End> runs(size);
  for (std::uint64_t run = first_; run < next_; ++run) runs[run & (size - 1)] = runs_[place(run)];
  runs_ = std::move(runs);
}

void HostQueue::shift(double time) {
  // Micro-batches that repeat are skipped, and all dates move by what they would have taken.
  for (std::uint64_t run = first_; run < next_; ++run) runs_[place(run)].device += time;
  for (Start& start : starts_) {
    Clocks& entry = start.entry;
    entry = {entry.main + time, entry.worker + time, entry.device + time};
  }
  for (double& end : ends_) end += time;
}

// Runs whose ends are known act through these alone.
void HostQueue::append_state(double origin, std::vector<double>& state) const {
  state.push_back(compile_lag_.main);
  state.push_back(compile_lag_.worker);
  // Two moments are alike if all that is still to come from the queue is: open runs, counted from
  // the oldest, and dates from now.
  std::uint64_t number = first_start_;
  for (std::uint64_t run = first_; run < next_; ++run) {
    const End& end = runs_[place(run)];
    const std::uint64_t first = first_operator(run);
    state.push_back(static_cast<double>(issued_ - first));
    state.push_back(static_cast<double>(end.operators() - first));
    state.push_back(end.device - origin);
    if (end.each_known()) {
      for (std::uint64_t i = first; i < end.operators(); ++i) {
        // Ends that no issue can wait for any more are left out, or states that act alike would
        // look different.
        if (i + depth_ >= issued_) state.push_back(ends_[i & (ends_.size() - 1)] - origin);
      }
    } else {
      while (start_at(number).run < run) ++number;
      const Start& start = start_at(number);
      state.push_back(start.segment->device_time());
      for (const double clock : {start.entry.main, start.entry.worker, start.entry.device})
        state.push_back(clock - origin);
      state.push_back(start.speed.device);
      state.push_back(start.speed.host);
    }
  }
}

/// Waiting takes a lag up: without it the host would have waited for that much longer.
void CompileLag::wait(double free, double date) { main = std::clamp(free - date, 0.0, main); }

void CompileLag::synchronise(const Clocks& clocks) {
  // When the host would be through had it compiled nothing.
  const double prompt = std::max({clocks.main - main, clocks.worker - worker, clocks.device});
  main = std::max({clocks.main, clocks.worker, clocks.device}) - prompt;
}

/// The second thread is held up by what the main one compiled as far as it has nothing else to do.
double CompileLag::issue_communication(const Clocks& clocks, const OperatorCost& cost,
                                       double host_factor) {
  main += host_factor * cost.compile;
  const double handed_over = clocks.main + host_factor * cost.main;
  // Equation (2) of docs/models/segments.md, with and without the lags of both threads.
  worker =
      std::max(clocks.worker, handed_over) - std::max(clocks.worker - worker, handed_over - main);
  return worker;
}

double CompileLag::issue(const Clocks& clocks, const OperatorCost& op, double host_factor) {
  const double late = issue_communication(clocks, op, host_factor);
  const double ready = issue_operator(clocks, op, {1, host_factor}).worker + op.launch;
  // No more than the device waits for the host, and no more than compiling has made it late.
  const double shown = std::clamp(ready - clocks.device, 0.0, late);
  take(shown);
  return shown;
}

void CompileLag::take(double shown) {
  main = std::max(0.0, main - shown);
  worker = std::max(0.0, worker - shown);
}

}  // namespace stepcast
