#pragma once
#include "step.hpp"

/// How algorithms put their steps together: flows, then phases.
namespace stepcast::collectives {

using Group = std::span<const DeviceId>;

/// A step, `times` in a row.
struct Repeated {
  Repeated(const Step& s, double t) : Repeated(s, t, s.latency() * t) {}
  Repeated(const Step& s, double t, Seconds l) : step{s}, times{t}, latency{l} {}
  const Step& step;
  double times;
  Seconds latency;  ///< all of them together
};

/// Phases under construction, in one form of the network. HCCL pays every latency once per loop
/// over its buffer; NCCL's chunks follow each other.
class Schedule {
 public:
  Schedule(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form)
      : Schedule(fabric, members, call.bytes, form) {}
  /// `buffered` bytes pass through the library's buffer.
  Schedule(const Fabric& fabric, Group members, Bytes buffered, NetworkForm form);
  Schedule(const Schedule&) = delete;  // steps refer to its wiring
  Schedule& operator=(const Schedule&) = delete;
  /// Every member does the same as the one a period before, so that its links need not be listed:
  /// to be said before the first step. Messages as pairs are listed all the same.
  void repeats(std::size_t period);
  const Fabric& fabric() const { return fabric_; }
  const Wiring& wiring() const { return wiring_; }
  Step step() const { return Step(wiring_, form_); }
  /// As ports it joins the phase before it when that changes neither the time nor the bytes of any
  /// link.
  void then(const Step& step, double times = 1);
  /// A phase of its own, in which all of them run at the same time.
  void then_together(const std::vector<Repeated>& parts);
  CollectivePlan plan(std::string algorithm) && {
    return {std::move(algorithm), std::move(phases_), !wiring_.watches_all()};
  }

 private:
  const Fabric& fabric_;
  Wiring wiring_;
  NetworkForm form_;
  double loops_;
  std::vector<Phase> phases_;
  PhaseFlow next_, both_;  ///< kept for their memory
};

/// Parts of the bandwidth of links that a protocol reaches, inside nodes and super-nodes and
/// beyond.
struct Reached {
  double near = 1, far = 1;
};
/// Time of the bytes of a flow alone [s].
Seconds transfer_time(const Fabric& fabric, const PhaseFlow& flow, Reached reached = {});

}  // namespace stepcast::collectives
