#include "lane_queue.hpp"

#include <bit>

namespace stepcast {
namespace {

constexpr std::uint32_t all_lanes = (1U << lanes) - 1;
constexpr std::uint32_t bit(std::size_t lane) { return 1U << lane; }

}  // namespace

/// As HostQueue::may_bind finds the gates.
QueuePlan::QueuePlan(std::uint64_t queue_depth, const std::vector<std::size_t>& sizes)
    : depth{queue_depth} {
  std::uint64_t issued = 0;
  std::uint32_t gate = 0;
  for (std::uint32_t n = 0; n < sizes.size(); ++n) {
    const std::uint64_t end = issued + sizes[n];
    // The first runs of a step look back on nothing: the queue is not full yet.
    const bool free = end <= depth;
    // A run longer than the queue waits for its own operators.
    if (sizes[n] > depth) gate = n;
    // The gate is the run that holds operator end - depth, the last that this one waits for.
    while (!free && gate < n && runs[gate].first + sizes[gate] + depth < end) ++gate;
    runs.push_back({issued, gate, free});
    issued = end;
    // An operator loop looks back to the gate of the run before.
    const std::uint32_t oldest = n == 0 ? 0 : runs[n - 1].gate;
    reach = std::max(reach, std::bit_ceil(n - oldest + 1));
  }
}

/// Pasts take no more room than the ends of all operators in reach.
LaneQueue::LaneQueue(const QueuePlan& plan)
    : plan_{&plan},
      device_ends_(plan.reach),
      known_(plan.reach),
      past_(std::bit_floor(std::clamp<std::uint64_t>(
          lanes * sizeof(double) * std::min<std::uint64_t>(plan.depth, UINT32_MAX) / sizeof(Past),
          1, plan.reach))) {}

void LaneQueue::run(LaneClocks& clocks, const Segment& segment, const LaneSpeeds& speeds) {
  if (segment.size() == 0) return;
  // Runs come in the order of the code, so that a counter finds the plan.
  const QueuePlan::Run& run = plan_->runs[next_];
  const std::uint32_t loops = run.free ? 0 : binding(clocks, speeds.host, run, segment.size());
  const LaneClocks entry = clocks;
  // Lanes that took the matrix have not told the ends of their operators; they can be asked later.
  if (loops != all_lanes) keep_past({next_, &segment, speeds.device, entry}, speeds.host);
  for (std::size_t l = 0; l < lanes; ++l) {
    clocks.set(l, (loops & bit(l)) != 0 ? operator_loop(l, entry.of(l), segment, speeds.of(l))
                                        : segment.matrix(speeds.of(l)).apply(entry.of(l)));
  }
  // Lanes that stepped through have written their ends already.
  known_[place(next_)] = loops;
  device_ends_[place(next_)] = clocks.device;
  // The gate of the next run is asked for before the next run needs it.
  if (++next_ < plan_->runs.size())
    __builtin_prefetch(&device_ends_[place(plan_->runs[next_].gate)]);
}

/// A run whose place is taken tells its ends before: earlier ones than a loop may write.
void LaneQueue::keep_past(const Past& past, const LaneTimes& host) {
  Past& place = past_of(past.run);
  if (place.segment != nullptr && past.run - place.run < plan_->reach)
    for (std::size_t l = 0; l < lanes; ++l) recall_ends(l, place.run, host[l]);
  place = past;
}

/// The lanes in which the queue holds the host up.
std::uint32_t LaneQueue::binding(const LaneClocks& clocks, const LaneTimes& host,
                                 const QueuePlan::Run& run, std::uint64_t size) {
  // The run waits for operators of its own: all lanes step through.
  if (run.gate == next_) return all_lanes;
  const LaneTimes& ends = device_ends_[place(run.gate)];
  bool past = true;
  // Mostly the gate is over altogether in every lane, and nothing has to be recalled.
  for (std::size_t l = 0; l < lanes; ++l) past &= ends[l] <= clocks.main[l];
  if (past) return 0;
  // Operator first + size - 1 waits for the one `depth` before it.
  const std::uint64_t waited_for = run.first + size - 1 - plan_->depth;
  std::uint32_t found = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    if (ends[l] <= clocks.main[l]) continue;
    recall_ends(l, run.gate, host[l]);
    if (end_of(l, waited_for) > clocks.main[l]) found |= bit(l);
  }
  return found;
}

/// Runs up to the gate may not have been asked for their ends yet. What ended before the host got
/// here holds nobody up; in its place the ring has the end of an earlier operator.
Clocks LaneQueue::operator_loop(std::size_t lane, Clocks clocks, const Segment& segment,
                                const SpeedFactors& speed) {
  reserve_ends();
  const QueuePlan::Run& run = plan_->runs[next_];
  const std::uint32_t oldest = next_ == 0 ? 0 : plan_->runs[next_ - 1].gate;
  for (std::uint32_t n = oldest; n < run.gate; ++n)
    if (device_ends_[place(n)][lane] > clocks.main) recall_ends(lane, n, speed.host);
  std::uint64_t index = run.first;
  for (const OperatorCost& op : segment.operators()) {
    // Only operators beyond the depth wait for one before them.
    if (index >= plan_->depth)
      clocks.main = std::max(clocks.main, end_of(lane, index - plan_->depth));
    clocks = issue_operator(clocks, op, speed);
    end_of(lane, index++) = clocks.device;
  }
  return clocks;
}

void LaneQueue::recall_ends(std::size_t lane, std::uint32_t run, double host) {
  // Ends of a run are recomputed once per lane, from where it began.
  if ((known_[place(run)] & bit(lane)) != 0) return;
  known_[place(run)] |= bit(lane);
  reserve_ends();
  const Past& past = past_of(run);
  Clocks clocks = past.entry.of(lane);
  std::uint64_t index = plan_->runs[run].first;
  const std::uint64_t issued = plan_->runs[next_].first;
  for (const OperatorCost& op : past.segment->operators()) {
    clocks = issue_operator(clocks, op, {past.speed[lane], host});
    // Earlier ends are out of reach and their place in the ring is taken.
    if (index + plan_->depth >= issued) end_of(lane, index) = clocks.device;
    ++index;
  }
}

void LaneQueue::reserve_ends() {
  // Ranks whose queue never binds need no ring.
  if (!ends_.empty()) return;
  ring_ = std::bit_ceil(plan_->depth);
  ends_.resize(lanes * ring_);
}

}  // namespace stepcast
