#include <gtest/gtest.h>

#include <cmath>

#include "collective_fabrics.hpp"
#include "topology/fabrics.hpp"

/// No plan may beat the bound, on any fabric and for any part of its devices.
namespace stepcast {
namespace {

void hold_bound(const Fabric& fabric, std::span<const DeviceId> members, const CollectiveCall& call,
                std::span<const NamedAlgorithm> algorithms) {
  const double bound = bandwidth_bound(fabric, members, call).value();
  for (const NamedAlgorithm& algorithm : algorithms) {
    const auto plan = algorithm.plan(fabric, members, call, NetworkForm::ports);
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

/// 1 B to 4 GiB, as many of each magnitude, also early in a run.
CollectiveCall random_call() {
  const auto kind =
      static_cast<CollectiveKind>(*rc::gen::inRange(0, static_cast<int>(chosen_kinds)));
  const auto exponent = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, 33));
  const double below = std::ldexp(1.0, exponent);
  const double part = *rc::gen::inRange(0, 1000) / 1000.0;
  return {kind, Bytes{exponent < 32 ? std::floor(below * (1 + part)) : below}};
}

TEST(CollectiveBound, SmallFabrics) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < fabric.devices(); ++d)
      if (*rc::gen::inRange(0, 4) > 0) members.push_back({d});
    if (members.size() < 2) return;
    hold_bound(fabric, members, random_call(), collective_algorithms());
  }));
}

TEST(CollectiveBound, WholeClusters) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < fabric.devices(); ++d) members.push_back({d});
    if (members.size() < 2) return;
    hold_bound(fabric, members, random_call(), collective_algorithms());
  }));
}

/// Any magnitude of ranks as likely as another; what auto takes and one other algorithm.
TEST(CollectiveBound, TwoTo4096Ranks) {
  EXPECT_TRUE(rc::check([] {
    const auto pick = [](std::uint32_t low, std::uint32_t high) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
    };
    const std::uint32_t most = 1U << pick(1, 12);
    const std::uint32_t ranks = pick(most / 2 + 1, most);
    const Fabric fabric(test::random_cluster(ranks, ranks));
    const std::uint32_t stride = pick(1, static_cast<std::uint32_t>(fabric.devices()) / ranks);
    const NamedAlgorithm other = *rc::gen::elementOf(
        std::vector(collective_algorithms().begin(), collective_algorithms().end()));
    hold_bound(fabric, test::first_devices(ranks, stride), random_call(), {&other, 1});
  }));
}

TEST(CollectiveBound, Transfers) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    const auto device = rc::gen::inRange(0U, static_cast<std::uint32_t>(fabric.devices()));
    const std::vector<DeviceId> pair{{*device}, {*device}};
    if (pair[0] == pair[1]) return;
    const CollectiveCall call{CollectiveKind::send_recv, random_call().bytes};
    hold_bound(fabric, pair, call, collective_algorithms());
  }));
}

TEST(CollectiveBound, EndsOfTheRange) {
  for (const std::int64_t ranks : {2, 4096}) {
    const Fabric fabric(test::cluster({.nodes = ranks / 2, .per_node = 2}));
    const auto members = test::first_devices(ranks);
    for (std::size_t kind = 0; kind < chosen_kinds; ++kind)
      for (const double bytes : {1.0, std::ldexp(1.0, 32)}) {
        const CollectiveCall call{static_cast<CollectiveKind>(kind), Bytes{bytes}};
        const double bound = bandwidth_bound(fabric, members, call).value();
        const double time =
            lone_time(fabric, plan_collective(fabric, members, call, "auto")).value();
        EXPECT_GT(bound, 0) << name(call.kind) << " of " << ranks;
        EXPECT_GE(time, bound * (1 - 1e-9)) << name(call.kind) << " of " << ranks;
      }
  }
}

}  // namespace
}  // namespace stepcast
