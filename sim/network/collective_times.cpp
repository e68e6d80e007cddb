#include "stepcast/sim/network/collective_times.hpp"

#include <algorithm>
#include <cmath>

#include "pattern_planner.hpp"

namespace stepcast {

/// Groups are told apart by their devices, because different plans make the same group again and
/// again.
CollectiveTimes::Members CollectiveTimes::members(const Placement& placement, GroupKind group,
                                                  Rank rank) {
  std::vector<std::uint32_t> key;
  for (const Rank member : placement.group(group, rank))
    key.push_back(placement.device_of(member).value);
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const auto [place, fresh] = group_index_.try_emplace(std::move(key), next);
  if (fresh) {
    auto& devices = groups_.emplace_back();
    for (const std::uint32_t device : place->first) devices.push_back(DeviceId{device});
  }
  // Copied once when first seen: plans want devices, the index wants plain numbers.
  return Members{place->second};
}

/// Planning is the dear part, and a search asks for the same calls over and over.
double CollectiveTimes::planned(Members members, const CollectiveCall& call,
                                const std::string& algorithm) {
  // All that a plan depends on beside the fabric stands in this key.
  const auto [place, fresh] =
      times_.try_emplace({members, call.kind, call.bytes.value(), call.skew, algorithm}, 0.0);
  if (fresh) {
    const CollectivePlan plan =
        plan_collective(fabric_, groups_[static_cast<std::size_t>(members)], call, algorithm);
    // Groups of one member have no phases and take no time.
    if (!plan.phases.empty()) place->second = lone_time(fabric_, plan).value();
  }
  return place->second;
}

double CollectiveTimes::launch() const {
  return fabric_.cluster().device.launch.communication.value();
}

/// Calls inside a kernel that runs already pay no launch.
double CollectiveTimes::alone(const Placement& placement, const StageCall& call, Rank rank) {
  // A copy to the host is no collective: its time comes with it.
  if (call.over_host_link()) return call.host_link.value();
  const std::string& chosen = call.algorithm.empty()
                                  ? choice_.algorithm[static_cast<std::size_t>(call.call.kind)]
                                  : call.algorithm;
  // Uneven experts: volumes depend on which expert each member holds.
  std::vector<std::uint32_t> experts;
  if (!call.call.skew.factor.empty())
    for (const Rank member : placement.group(call.group, rank))
      experts.push_back(placement.coordinates(member).ep);
  const double moving = planned(members(placement, call.group, rank), call.among(experts), chosen);
  // What needs no time is not launched either.
  return moving > 0 && !call.in_kernel ? moving + launch() : moving;
}

double CollectiveTimes::held(const Placement& placement, const StageCall& call, Rank rank) {
  if (call.over_host_link()) return 0;  // its group means nothing
  const Members group = members(placement, call.group, rank);
  return held_by(fabric_, groups_[static_cast<std::size_t>(group)], call);
}

/// A search asks for thousands of sizes, and the times between two powers are nearly straight.
double CollectiveTimes::power_of_two(Members members, CollectiveKind kind, int exponent) {
  const auto [place, fresh] = powers_.try_emplace({members, kind});
  // -1 stands for "not planned yet"; no time is negative.
  if (fresh) place->second.fill(-1);
  double& time = place->second.at(static_cast<std::size_t>(exponent));
  if (time < 0)
    time = planned(members, {kind, Bytes{std::ldexp(1.0, exponent)}},
                   choice_.algorithm[static_cast<std::size_t>(kind)]);
  return time;
}

/// Between two powers the time is taken as straight, which is exact where bandwidth bounds it.
double CollectiveTimes::about(Members members, const CollectiveCall& call) {
  const double bytes = call.bytes.value();
  if (bytes <= 0) return 0;
  // Below one byte the first interval serves as well.
  const int exponent = std::max(std::ilogb(bytes), 0);
  const double low = std::ldexp(1.0, exponent);
  const double before = power_of_two(members, call.kind, exponent);
  const double after = power_of_two(members, call.kind, exponent + 1);
  const double moving = before + (after - before) * (bytes - low) / low;
  return moving > 0 ? moving + launch() : 0;
}

/// Links that can never be the limit are left out, as they are in the network map.
CollectiveTimes::Hop CollectiveTimes::hop(Rank from, Rank to, double bytes) const {
  const DeviceId a{from.value}, b{to.value};
  double slowest = 0;
  const auto cross = [&](LinkId link) {
    slowest = std::max(slowest, 1 / fabric_.link(link).bandwidth.value());
  };
  for (const LinkId link : fabric_.route(a, b)) {
    // A link that nothing can fill never limits a transfer.
    if (!fabric_.can_saturate(link)) continue;
    cross(link);
    for (const LinkId more : fabric_.over_pcie(link)) cross(more);
  }
  return {transfer_latency(fabric_, a, b, Bytes{bytes}).value() + launch(), bytes * slowest};
}

}  // namespace stepcast
