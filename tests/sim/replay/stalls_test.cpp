#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "stepcast/sim/replay/stall_plan.hpp"

namespace stepcast {
namespace {

StallPlan planned(const StallsSpec& spec, std::int64_t devices, std::int64_t per_node = 8) {
  ParallelPlan plan;
  plan.dp = devices;
  ClusterSpec cluster;
  cluster.devices = devices;
  cluster.node_devices = per_node;
  return plan_stalls(spec, Placement(plan), cluster);
}

TEST(StallPlan, OfNothingIsNothing) {
  const StallPlan plan = planned({}, 16);
  EXPECT_FALSE(plan.any());
  EXPECT_FALSE(plan.irregular());
  EXPECT_TRUE(plan.keys().empty());
  EXPECT_TRUE(plan.profile_of(Rank{3}).steady());
  EXPECT_EQ(plan.profile_of(Rank{3}).end_of(5, 7), 12);
  EXPECT_EQ(plan.speed_of(Rank{3}), SpeedFactors{});
}

TEST(StallPlan, NeutralNumbersAreNothing) {
  StallsSpec spec;
  spec.compute_jitter = StallsSpec::Jitter{0, 1};
  spec.slow_devices = {{{1}, 1.0}};
  spec.slow_hosts = {{{0}, 1.0}};
  spec.throttling = {{{1}, 1.0, Seconds{0}, Seconds{1}}};
  spec.gc_pauses = StallsSpec::GcPauses{Seconds{0}, Seconds{60}};
  spec.allocator_pauses = StallsSpec::AllocatorPauses{Seconds{1}, 0};
  spec.data_loader = StallsSpec::DataLoader{};
  spec.checkpoint = StallsSpec::Checkpoint{};
  const StallPlan plan = planned(spec, 16);
  EXPECT_FALSE(plan.any());
  EXPECT_TRUE(plan.keys().empty());
}

TEST(StallPlan, SlowsDevicesAndAllDevicesOfSlowNodes) {
  StallsSpec spec;
  spec.slow_devices = {{{3, 17}, 1.25}, {{4}, 2}};
  spec.slow_hosts = {{{2}, 3}};
  const StallPlan plan = planned(spec, 32);
  for (std::uint32_t r = 0; r < 32; ++r) {
    const SpeedFactors expected{r == 3 || r == 17 ? 1.25
                                : r == 4          ? 2.0
                                                  : 1.0,
                                r / 8 == 2 ? 3.0 : 1.0};
    EXPECT_EQ(plan.speed_of(Rank{r}), expected) << r;
  }
  EXPECT_TRUE(plan.any());
  EXPECT_FALSE(plan.irregular());
  const auto keys = plan.keys();
  ASSERT_EQ(keys.size(), 32U);
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 5U);
  EXPECT_EQ(keys[0], keys[31]);
  EXPECT_EQ(keys[16], keys[23]);
  EXPECT_NE(keys[16], keys[17]);
  EXPECT_NE(keys[3], keys[17]);
  EXPECT_NE(keys[3], keys[4]);
}

TEST(StallPlan, TakesTheFactorOfAnAffinityFromTheCluster) {
  HostSpec host;
  host.affinity_unbound = 1.5;
  host.affinity_cross_numa = 1.75;
  using Affinity = StallsSpec::SlowHosts::Affinity;
  EXPECT_EQ(host_factor({{0}, 4, Affinity::none}, host), 4);
  EXPECT_EQ(host_factor({{0}, 1, Affinity::unbound}, host), 1.5);
  EXPECT_EQ(host_factor({{0}, 1, Affinity::cross_numa}, host), 1.75);
}

TEST(StallPlan, KeepsSlowDevicesAndThrottlingApartSoThatTheyMultiply) {
  StallsSpec spec;
  spec.slow_devices = {{{5}, 2}};
  spec.throttling = {{{5, 6}, 3, Seconds{1}, Seconds{2}}};
  const StallPlan plan = planned(spec, 8);
  EXPECT_EQ(plan.speed_of(Rank{5}).device * plan.profile_of(Rank{5}).factor_at(1), 6);
  EXPECT_EQ(plan.profiles.size(), 2U);
  EXPECT_TRUE(plan.irregular());
  const auto keys = plan.keys();
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 3U);
}

TEST(StallPlan, GarbageIsCollectedFirstWithinAPeriod) {
  StallsSpec spec;
  spec.gc_pauses = StallsSpec::GcPauses{Seconds{0.2}, Seconds{60}, false, 9};
  const StallPlan apart = planned(spec, 4096);
  double sum = 0;
  for (const double offset : apart.gc_offset) {
    ASSERT_GE(offset, 0);
    ASSERT_LT(offset, 60);
    sum += offset;
  }
  EXPECT_NEAR(sum / 4096, 30, 5 * 60 / std::sqrt(12 * 4096));
  EXPECT_EQ((std::set<double>(apart.gc_offset.begin(), apart.gc_offset.end()).size()), 4096U);
  EXPECT_TRUE(apart.irregular());
  spec.gc_pauses->synchronised = true;
  const StallPlan together = planned(spec, 4096);
  EXPECT_EQ(together.gc_offset, std::vector<double>(4096, apart.gc_offset[0]));
  EXPECT_TRUE(together.keys().empty());
  EXPECT_TRUE(together.irregular());
}

TEST(StallPlan, RandomRanksSufferOnTheirOwn) {
  StallsSpec spec;
  spec.compute_jitter = StallsSpec::Jitter{0.01, 1};
  const auto keys = planned(spec, 64).keys();
  EXPECT_EQ((std::set<std::uint64_t>(keys.begin(), keys.end()).size()), 64U);
  StallsSpec allocator;
  allocator.allocator_pauses = StallsSpec::AllocatorPauses{Seconds{0.01}, 0.1, 1};
  EXPECT_EQ(planned(allocator, 64).keys(), keys);
  EXPECT_TRUE(planned(allocator, 64).irregular());
}

TEST(StallPlan, KeysAreEqualExactlyForRanksThatSufferAlike) {
  EXPECT_TRUE(rc::check([] {
    StallsSpec spec;
    const auto some = [] {
      return std::vector<std::int64_t>{*rc::gen::inRange<std::int64_t>(0, 16),
                                       *rc::gen::inRange<std::int64_t>(16, 32)};
    };
    spec.slow_devices = {{some(), 1.0 + *rc::gen::inRange(0, 3)}};
    spec.slow_hosts = {{{*rc::gen::inRange<std::int64_t>(0, 4)}, 1.0 + *rc::gen::inRange(0, 3)}};
    spec.throttling = {{some(), 2, Seconds{1}, Seconds{2}}};
    const StallPlan plan = planned(spec, 32);
    const auto keys = plan.keys();
    for (std::uint32_t a = 0; a < 32; ++a) {
      for (std::uint32_t b = 0; b < 32; ++b) {
        const bool alike = plan.speed_of(Rank{a}) == plan.speed_of(Rank{b}) &&
                           plan.profile_of(Rank{a}) == plan.profile_of(Rank{b});
        RC_ASSERT(alike == (keys.empty() || keys[a] == keys[b]));
      }
    }
  }));
}

TEST(StallPlan, EachKindOfPauseIsHeeded) {
  StallsSpec loader;
  loader.data_loader = StallsSpec::DataLoader{Seconds{0.05}, 2};
  StallsSpec saving;
  saving.checkpoint = StallsSpec::Checkpoint{1, Seconds{30}};
  StallsSpec sync;
  sync.host_sync = StallsSpec::HostSyncAt::unit;
  EXPECT_TRUE(planned(loader, 8).irregular());
  EXPECT_TRUE(planned(saving, 8).irregular());
  EXPECT_TRUE(planned(sync, 8).any());
  EXPECT_FALSE(planned(sync, 8).irregular());
  StallsSpec elsewhere;
  elsewhere.failures = StallsSpec::Failures{Seconds{1e8}, Seconds{900}};
  elsewhere.degraded_links = {{"nic:1", 0.5}};
  EXPECT_FALSE(planned(elsewhere, 8).any());
}

}  // namespace
}  // namespace stepcast
