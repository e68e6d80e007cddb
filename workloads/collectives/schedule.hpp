#pragma once
#include "step.hpp"

/// How algorithms put their steps together: flows, then phases.
namespace stepcast::collectives {

using Group = std::span<const DeviceId>;

/// Phases under construction. Every latency is paid `loops` times.
class Schedule {
 public:
  Schedule(const Fabric& fabric, Group members, CollectiveCall call)
      : Schedule(fabric, members, call.bytes) {}
  /// `buffered` bytes pass through the library's buffer.
  Schedule(const Fabric& fabric, Group members, Bytes buffered);
  Schedule(const Schedule&) = delete;  // steps refer to its wiring
  Schedule& operator=(const Schedule&) = delete;
  const Fabric& fabric() const { return fabric_; }
  Step step() const { return Step(wiring_); }
  /// Joins the phase before it when that changes neither the time nor the bytes of any link.
  void then(const Step& step, double times = 1);
  /// A phase of several flows.
  void then_together(const std::vector<PhaseFlow>& flows);
  CollectivePlan plan(std::string algorithm) && {
    return {std::move(algorithm), std::move(phases_)};
  }

 private:
  const Fabric& fabric_;
  Wiring wiring_;
  double loops_;
  std::vector<Phase> phases_;
  PhaseFlow next_, both_;  ///< kept for their memory
};

/// Time of the bytes of a flow alone [s].
Seconds transfer_time(const Fabric& fabric, const PhaseFlow& flow);

}  // namespace stepcast::collectives
