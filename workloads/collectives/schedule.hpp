#pragma once
#include "stepcast/workloads/collectives.hpp"
#include "wiring.hpp"

/// How algorithms put their steps together: flows, then phases.
namespace stepcast::collectives {

using Members = std::vector<DeviceId>;
/// Subgroups of one size that advance in lock step.
using Sets = std::vector<Members>;

/// What happens between two barriers: bytes on every link, and the latency of its slowest message.
class Step {
 public:
  Step(const Wiring& wiring, NetworkForm form) : wiring_{&wiring}, form_{form} {
    if (form == NetworkForm::ports) loads_ = wiring.take_zeros();
  }
  Step(const Step&) = default;
  Step(Step&&) = default;
  Step& operator=(const Step&) = default;
  Step& operator=(Step&&) = default;
  ~Step() {
    if (loads_.empty()) return;
    clear();
    wiring_->keep_zeros(std::move(loads_));
  }
  /// Nothing sent; costs no more than what was sent since.
  void clear();
  /// One message over the route from a to b.
  void send(DeviceId a, DeviceId b, Bytes bytes) {
    const std::uint32_t i = wiring_->seat_of(a), j = wiring_->seat_of(b);
    // Links of neither end are counted: a period stands for the others.
    if (i != j && (wiring_->watches(i) || wiring_->watches(j))) send_between(i, j, bytes);
  }
  /// Whether links of that member are counted.
  bool counts(DeviceId member) const { return wiring_->watches(wiring_->seat_of(member)); }
  /// Every member sends `bytes` to every other member of the set; counted per link, not per pair.
  void send_all_pairs(const Members& members, Bytes bytes);
  /// The same, each member posting all its messages in a row: those through its port cost a step
  /// of the library each, those over links of their own go side by side.
  void send_at_once(const Members& members, Bytes bytes);
  Seconds latency() const { return latency_; }
  /// The step, `times` in a row, as ports.
  void write_flow(double times, PhaseFlow& flow) const;
  /// The same as pairs: a flow per message, over its route.
  void add_messages(const Fabric& fabric, double times, std::vector<PhaseFlow>& flows) const;

 private:
  struct Message {
    DeviceId from, to;
    Bytes bytes;
  };
  using Seats = std::vector<std::uint32_t>;
  void send_between(std::uint32_t i, std::uint32_t j, Bytes bytes);
  /// Whether links of some member are counted; channels of a dragonfly always are.
  bool counts_some(const Members& members) const;
  /// One message more, as pairs. Throws InputError when the step has too many.
  void post(DeviceId from, DeviceId to, Bytes bytes);
  void cross(Part part) { latency_ = std::max(latency_, wiring_->latency(part)); }
  /// One message between seats of a node with wires.
  void send_over_wires(std::uint32_t i, std::uint32_t j, Bytes bytes);
  void touch(Part part, std::uint32_t seat);
  void add(Part part, std::uint32_t seat, std::uint32_t place, double bytes);
  /// Of all pairs, ascending.
  Seconds slowest_message(const Members& members) const;
  void pass(Part part, std::uint32_t from, std::uint32_t to, double bytes);
  /// Over the way up of one seat; over the way down to one.
  void leave(Part part, std::uint32_t seat, std::uint32_t place, double bytes);
  void reach(Part part, std::uint32_t seat, std::uint32_t place, double bytes);
  void pairs_in_node(std::span<const std::uint32_t> seats, double bytes);
  void climb(Part part, std::uint32_t seat, std::uint32_t from, std::uint32_t to, double bytes);
  /// One message between the routers of two seats.
  void send_over_channels(std::uint32_t i, std::uint32_t j, double bytes);
  /// Of all pairs of different super-nodes.
  void load_channels(const Seats& seats, double bytes);
  void add_to_channel(std::uint32_t channel, double bytes);
  /// Of all pairs: the links above leaves or pods.
  void load_trunks(Part part, std::uint32_t Wiring::Seat::*above, const Seats& seats, double bytes);

  const Wiring* wiring_;
  NetworkForm form_;
  std::vector<Message> messages_;  ///< as pairs
  std::vector<double> loads_;      ///< by slot, as ports
  std::array<bool, link_tiers> touched_{};
  std::vector<double> channel_loads_;            ///< empty until a channel carries something
  std::vector<std::uint32_t> channels_;          ///< that carry something
  std::uint32_t first_ = UINT32_MAX, last_ = 0;  ///< seats whose links carry something
  Seconds latency_{0};
};

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
