#pragma once
#include <map>
#include <span>
#include <vector>

#include "stepcast/workloads/collectives.hpp"

/// How algorithms put their steps together: bytes on links, then flows, then phases.
namespace stepcast::collectives {

using Members = std::vector<DeviceId>;
/// Subgroups of one size that advance in lock step.
using Sets = std::vector<Members>;

/// Time of one message from a to b before its bytes: route and library [s].
Seconds message_latency(const Fabric& fabric, DeviceId a, DeviceId b);

/// What happens between two barriers: bytes on every link, and the latency of its slowest message.
class Step {
 public:
  explicit Step(const Fabric& fabric) : fabric_{fabric} {}
  /// One message over the route from a to b.
  void send(DeviceId a, DeviceId b, Bytes bytes);
  /// Every member sends `bytes` to every other member of the set; counted per link, not per pair.
  void send_all_pairs(const Members& members, Bytes bytes);
  /// Bytes on a link that the route of a pair does not tell.
  void load(LinkId link, double bytes);
  void at_least(Seconds latency);
  Seconds latency() const { return latency_; }
  /// The step, `times` in a row.
  PhaseFlow flow(double times) const;

 private:
  void load_trunks(const Members& members, double bytes);

  const Fabric& fabric_;
  std::map<std::uint32_t, double> loads_;
  Seconds latency_{0};
};

/// Phases under construction. Every latency is paid `loops` times.
class Schedule {
 public:
  Schedule(const Fabric& fabric, CollectiveCall call);
  const Fabric& fabric() const { return fabric_; }
  /// Joins the phase before it when that changes neither the time nor the bytes of any link.
  void then(const Step& step, double times = 1);
  /// A phase of several flows.
  void then_together(const std::vector<PhaseFlow>& flows);
  CollectivePlan plan(std::string algorithm) && {
    return {std::move(algorithm), std::move(phases_)};
  }

 private:
  const Fabric& fabric_;
  double loops_;
  std::vector<Phase> phases_;
};

/// Time of the bytes of a flow alone [s].
Seconds transfer_time(const Fabric& fabric, const PhaseFlow& flow);

}  // namespace stepcast::collectives
