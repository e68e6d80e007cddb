#pragma once
#include <algorithm>

#include "stepcast/topology/device_spec.hpp"

namespace stepcast {

/// The clock of one device: since when it has no work, and until when it is slow for that
/// (docs/models/clocks.md).
class ClockState {
 public:
  /// Work of `work` seconds at the clock of work that begins at `start` takes this long; `start`
  /// never decreases, and end() is told when it has ended.
  double time_of(const IdleClock& clock, double start, double work) {
    if (start - worked_until_ > clock.hold.value()) slow_until_ = start + clock.ramp.value();
    const double slow = std::max(0.0, slow_until_ - start);
    const double slowness = clock.slowness();
    return work * slowness <= slow ? work * slowness : work + slow * (1 - 1 / slowness);
  }
  void end(double time) { worked_until_ = time; }

  void shift(double time) {
    worked_until_ += time;
    slow_until_ += time;
  }
  double worked_until() const { return worked_until_; }
  double slow_until() const { return slow_until_; }

 private:
  double worked_until_ = 0, slow_until_ = 0;
};

}  // namespace stepcast
