#pragma once
#include <algorithm>

#include "stepcast/topology/device_spec.hpp"

namespace stepcast {

/// What one device has saved up of the power that its limit allows, as time at the limit [s], up to
/// PowerCap::window (docs/models/clocks.md).
class PowerReserve {
 public:
  /// Work that takes `work` seconds at the clock of the limit and begins at `start` takes this
  /// long; `start` never decreases, and end() is told when it has ended. `draw`:
  /// OperatorCost::draw.
  double time_of(const PowerCap& cap, double start, double work, double draw) {
    save(cap, (start - worked_until_) * (1 - cap.waiting));
    if (draw <= 1) {
      save(cap, work * (1 - draw));
      return work;
    }
    const double gained = std::min(saved_, work * (1 - 1 / draw));
    saved_ -= gained;
    return work - gained;
  }
  void end(double time) { worked_until_ = time; }

  void shift(double time) { worked_until_ += time; }
  double worked_until() const { return worked_until_; }
  double saved() const { return saved_; }

 private:
  void save(const PowerCap& cap, double time) {
    saved_ = std::min(cap.window.value(), saved_ + time);
  }

  double worked_until_ = 0, saved_ = 0;
};

}  // namespace stepcast
