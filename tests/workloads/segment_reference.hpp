#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "stepcast/workloads/segment.hpp"

/// What a host queue does, with nothing forgotten and nothing skipped: the end of every operator of
/// the rank.
namespace stepcast::reference {

class PlainQueue {
 public:
  explicit PlainQueue(std::uint64_t depth) : depth_{depth} {}

  Clocks run(Clocks clocks, std::span<const OperatorCost> operators, const SpeedFactors& speed) {
    for (const OperatorCost& op : operators) {
      if (ends_.size() >= depth_ && ends_[ends_.size() - depth_] > clocks.main) {
        clocks.main = ends_[ends_.size() - depth_];
        ++waits_;
      }
      clocks.main = clocks.main + speed.host * op.main;
      if (clocks.worker < clocks.main) clocks.worker = clocks.main;
      clocks.worker = clocks.worker + speed.host * op.worker;
      if (clocks.device < clocks.worker + op.launch) clocks.device = clocks.worker + op.launch;
      clocks.device = clocks.device + speed.device * op.device;
      ends_.push_back(clocks.device);
    }
    return clocks;
  }

  std::uint64_t waits() const { return waits_; }

 private:
  std::uint64_t depth_, waits_ = 0;
  std::vector<double> ends_;
};

/// Relative to the larger clock.
inline bool close(const Clocks& a, const Clocks& b, double relative = 1e-12) {
  const auto near = [relative](double x, double y) {
    return std::abs(x - y) <= relative * std::max(std::abs(x), std::abs(y));
  };
  return near(a.main, b.main) && near(a.worker, b.worker) && near(a.device, b.device);
}

}  // namespace stepcast::reference
