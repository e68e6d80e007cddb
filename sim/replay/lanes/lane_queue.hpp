#pragma once
#include <cstdint>
#include <vector>

#include "lane_times.hpp"
#include "stepcast/workloads/segment.hpp"

namespace stepcast {

/// Which run of operators each run of a step waits for in the host queue: it follows from the
/// order of the segments alone, so that ranks with the same code share it.
struct QueuePlan {
  struct Run {
    std::uint64_t first;  ///< its first operator, counted over all runs
    std::uint32_t gate;   ///< the run of operator last - depth; the run itself where all wait
    bool free;            ///< nothing is that far ahead yet
  };
  std::uint64_t depth = 1;
  std::vector<Run> runs;    ///< segments without operators are no runs
  std::uint32_t reach = 1;  ///< runs that one may have to look back over, a power of two

  QueuePlan(std::uint64_t queue_depth, const std::vector<std::size_t>& sizes);
};

/// A HostQueue in all lanes. Which operator waits for which is the same in all of them; whether it
/// has to wait is not. Each lane gets what HostQueue::run gives it alone, to the bit.
class LaneQueue {
 public:
  explicit LaneQueue(const QueuePlan& plan);
  void run(LaneClocks& clocks, const Segment& segment, const LaneSpeeds& speeds);

 private:
  /// What the ends of the operators follow from where they are not known in every lane.
  struct Past {
    std::uint32_t run;
    const Segment* segment = nullptr;
    LaneTimes speed;  ///< of the device
    LaneClocks entry;
  };

  std::uint32_t binding(const LaneClocks& clocks, const LaneTimes& host, const QueuePlan::Run& run,
                        std::uint64_t size);
  Clocks operator_loop(std::size_t lane, Clocks clocks, const Segment& segment,
                       const SpeedFactors& speed);
  void recall_ends(std::size_t lane, std::uint32_t run, double host);
  void keep_past(const Past& past, const LaneTimes& host);
  void reserve_ends();
  double& end_of(std::size_t lane, std::uint64_t index) {
    return ends_[lane * ring_ + (index & (ring_ - 1))];
  }
  std::size_t place(std::uint32_t run) const { return run & (plan_->reach - 1); }
  Past& past_of(std::uint32_t run) { return past_[run & (past_.size() - 1)]; }

  const QueuePlan* plan_;
  std::uint32_t next_ = 0;              ///< run
  std::vector<LaneTimes> device_ends_;  ///< of the last operators of past runs, by place
  std::vector<std::uint32_t> known_;    ///< [place] lanes with all ends of the run in `ends_`
  std::vector<Past> past_;              ///< [run modulo the size], which is a power of two
  std::uint64_t ring_ = 0;
  std::vector<double> ends_;  ///< [lane][operator modulo the size of the ring]
};

}  // namespace stepcast
