#pragma once
#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <vector>

#include "lane_times.hpp"
#include "stepcast/workloads/segment.hpp"

namespace stepcast {

/// A HostQueue in all lanes. Which operator waits for which is the same in all of them; whether it
/// has to wait is not. Each lane gets what HostQueue::run gives it alone, to the bit.
class LaneQueue {
 public:
  explicit LaneQueue(std::uint64_t depth) : depth_{depth} {}
  void run(LaneClocks& clocks, const Segment& segment, const LaneSpeeds& speeds);

 private:
  struct Run {
    std::uint64_t first = 0, end = 0;  ///< operators, counted over all runs
    const Segment* segment = nullptr;
    std::uint32_t ends_known = 0;  ///< [lane] the ends of its operators are in `ends_`
    LaneTimes device_end;          ///< end of its last operator
    LaneClocks entry;
    LaneTimes speed;  ///< of the device
  };

  std::uint32_t binding(const LaneTimes& main, const LaneTimes& host, std::uint64_t size);
  Clocks operator_loop(std::size_t lane, Clocks clocks, const Segment& segment,
                       const SpeedFactors& speed);
  void recall_ends(std::size_t lane, Run& run, double host);
  void reserve_ends();
  double& end_of(std::size_t lane, std::uint64_t index) {
    return ends_[lane * ring_ + (index & (ring_ - 1))];
  }

  std::uint64_t depth_, issued_ = 0, ring_ = 0;
  std::size_t gate_ = 0;  ///< the run of operator last - depth, for the run at hand
  boost::circular_buffer<Run> runs_;
  std::vector<double> ends_;  ///< [lane][operator modulo the size of the ring]
};

}  // namespace stepcast
