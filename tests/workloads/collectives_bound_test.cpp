#include <gtest/gtest.h>

#include "stepcast/workloads/collectives.hpp"
#include "topology/fabrics.hpp"

/// No plan may beat the bound, on any fabric and for any part of its devices.
namespace stepcast {
namespace {

void hold_bound(const Fabric& fabric, std::span<const DeviceId> members, CollectiveCall call) {
  const double bound = bandwidth_bound(fabric, members, call).value();
  for (const NamedAlgorithm& algorithm : collective_algorithms()) {
    const auto plan = algorithm.plan(fabric, members, call);
    if (!plan) continue;
    const double time = lone_time(fabric, *plan).value();
    if (time < bound * (1 - 1e-9))
      RC_FAIL(std::string(algorithm.name) + " " + name(call.kind) + " takes " +
              std::to_string(time * 1e6) + " us, bound " + std::to_string(bound * 1e6) + " us");
  }
  // What auto takes is always applicable.
  RC_ASSERT(lone_time(fabric, plan_collective(fabric, members, call, "auto")).value() >=
            bound * (1 - 1e-9));
}

CollectiveCall random_call() {
  const auto kind = static_cast<CollectiveKind>(*rc::gen::inRange(0, 5));
  const int exponent = *rc::gen::inRange(0, 33);
  return {kind, Bytes{static_cast<double>(std::uint64_t{1} << exponent)}};
}

TEST(CollectiveBound, SmallFabrics) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < fabric.devices(); ++d)
      if (*rc::gen::inRange(0, 4) > 0) members.push_back({d});
    if (members.size() < 2) return;
    hold_bound(fabric, members, random_call());
  }));
}

TEST(CollectiveBound, WholeClusters) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < fabric.devices(); ++d) members.push_back({d});
    if (members.size() < 2) return;
    hold_bound(fabric, members, random_call());
  }));
}

}  // namespace
}  // namespace stepcast
