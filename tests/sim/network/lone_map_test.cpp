#include <gtest/gtest.h>

#include <algorithm>

#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {
namespace {

using namespace literals;

const CollectiveChoice ring{{"ring", "ring", "ring", "pairwise", "ring"}};

/// Two nodes of four devices in a mesh, a NIC each; 3 us to launch a communication.
ClusterSpec two_nodes() {
  ClusterSpec cluster;
  cluster.devices = 8;
  cluster.node_devices = 4;
  cluster.node_fabric = MeshFabric{{50_GBps, 1_us}, 1};
  cluster.network.nic.link = {25_GBps, 2_us};
  cluster.device.launch.communication = 3_us;
  return cluster;
}

ParallelPlan plan_of(std::int64_t pp, std::int64_t dp) {
  ParallelPlan plan;
  plan.pp = pp;
  plan.dp = dp;
  return plan;
}

/// Stages that hand on 25 MiB and make these calls.
std::vector<StageProgram> programs_of(const ParallelPlan& plan,
                                      const std::vector<GroupKind>& called = {}) {
  SyntheticSpec synthetic;
  synthetic.chunks = {{1_ms, 1_ms, 1_ms}};
  synthetic.boundary = 25_MiB;
  std::vector<StageProgram> programs;
  for (std::uint32_t s = 0; s < plan.pp; ++s) {
    programs.push_back(lower_synthetic(synthetic, plan, Stage{s}));
    for (const GroupKind group : called)
      programs.back().calls.push_back({"reduce",
                                       group,
                                       {CollectiveKind::all_reduce, 8_MiB},
                                       Stream::data,
                                       ExposedKind::data,
                                       {}});
  }
  return programs;
}

TEST(LoneMap, EachStageIsOneClassOfItsOwn) {
  const ParallelPlan plan = plan_of(2, 4);
  const Placement placement(plan);
  CollectiveTimes times(two_nodes(), ring);
  const RankClasses classes = map_without_contention(placement, programs_of(plan), times).classes;
  EXPECT_EQ(classes.representative, (std::vector<Rank>{{0}, {4}}));
  EXPECT_EQ(classes.stage, (std::vector<Stage>{{0}, {1}}));
  for (std::uint32_t c = 0; c < 2; ++c)
    EXPECT_EQ(std::ranges::count(classes.class_of, c), classes.ranks[c]);
}

// The first rank of each stage across its NIC, which no other of its stage uses.
TEST(LoneMap, TransfersAreAlone) {
  const ParallelPlan plan = plan_of(2, 4);
  const Placement placement(plan);
  CollectiveTimes times(two_nodes(), ring);
  const NetworkMap map = map_without_contention(placement, programs_of(plan), times);
  for (const auto& [channel, from] :
       {std::pair{Channel::output_next, 0U}, {Channel::gradient_previous, 1U}}) {
    const NetworkHop& hop = map.hop(channel, from);
    EXPECT_EQ(hop.peer, 1 - from);
    EXPECT_EQ(hop.flow.bytes, (25_MiB).value());
    EXPECT_NEAR(hop.flow.alone, (25_MiB / 25_GBps).value(), 1e-15);
    EXPECT_NEAR(hop.flow.latency, times.fabric().route_latency({0}, {4}).value() + 3e-6, 1e-18);
    EXPECT_TRUE(hop.flow.path.empty());
  }
  EXPECT_EQ(map.hop(Channel::output_next, 1).flow.bytes, 0);  // behind the last stage
}

TEST(LoneMap, StagesMeetInTheGroupsThatSpanThem) {
  const ParallelPlan plan = plan_of(4, 2);
  const Placement placement(plan);
  CollectiveTimes times(two_nodes(), ring);
  const auto programs =
      programs_of(plan, {GroupKind::dense_data, GroupKind::world, GroupKind::mirror});
  const NetworkMap map = map_without_contention(placement, programs, times);
  for (std::uint32_t s = 0; s < 4; ++s) {
    const auto call = [&](std::size_t i) { return map.calls[map.call_of[s][i]]; };
    EXPECT_EQ(call(0).group, s);
    EXPECT_EQ(call(0).arrivals, 1U);
    EXPECT_EQ(call(1).group, map.calls[map.call_of[0][1]].group);
    EXPECT_EQ(call(1).arrivals, 4U);
    EXPECT_EQ(call(2).group, std::min(s, 3 - s));
    EXPECT_EQ(call(2).arrivals, 2U);
    // a ring of the two replicas inside a node: each half goes once there and once back
    EXPECT_TRUE(call(0).lone);
    EXPECT_NEAR(call(0).alone, times.alone(placement, programs[s].calls[0], Rank{2 * s}), 1e-18);
    EXPECT_GT(call(0).alone, (8_MiB / 50_GBps).value() + 3e-6);
  }
}

// Where bandwidth bounds a ring, its time is straight in the bytes.
TEST(CollectiveTimes, BetweenPowersOfTwoAreStraight) {
  const ParallelPlan plan = plan_of(1, 8);
  const Placement placement(plan);
  CollectiveTimes times(two_nodes(), ring);
  const auto members = times.members(placement, GroupKind::dense_data, Rank{0});
  const auto about = [&](Bytes bytes) {
    return times.about(members, {CollectiveKind::all_gather, bytes});
  };
  EXPECT_EQ(about(0_B), 0);
  EXPECT_NEAR(about(6_MiB), (about(4_MiB) + about(8_MiB)) / 2, 1e-15);
  const StageCall call{"gather",     GroupKind::dense_data, {CollectiveKind::all_gather, 6_MiB},
                       Stream::data, ExposedKind::data,     {}};
  EXPECT_NEAR(about(6_MiB), times.alone(placement, call, Rank{0}), 1e-12);
  EXPECT_GT(about(8_MiB), 1.5 * about(4_MiB));
}

// Inside a kernel that runs already nothing is launched; over a host link its time is given.
TEST(CollectiveTimes, OnlyCallsOfTheirOwnAreLaunched) {
  const ParallelPlan plan = plan_of(1, 4);
  const Placement placement(plan);
  CollectiveTimes times(two_nodes(), ring);
  StageCall call{"gather",     GroupKind::dense_data, {CollectiveKind::all_gather, 8_MiB},
                 Stream::data, ExposedKind::data,     {}};
  const double launched = times.alone(placement, call, Rank{0});
  EXPECT_NEAR(launched, (6_MiB / 50_GBps).value() + 3 * 1e-6 + 3e-6, 1e-9);
  call.in_kernel = true;
  EXPECT_NEAR(times.alone(placement, call, Rank{0}), launched - 3e-6, 1e-12);
  call.host_link = 7_ms;
  EXPECT_EQ(times.alone(placement, call, Rank{0}), 7e-3);
  const CollectiveTimes::Hop hop = times.hop(Rank{0}, Rank{1}, 5e6);
  EXPECT_NEAR(hop.alone, 1e-4, 1e-15);
  EXPECT_NEAR(hop.latency, times.fabric().route_latency({0}, {1}).value() + 3e-6, 1e-12);
}

}  // namespace
}  // namespace stepcast
