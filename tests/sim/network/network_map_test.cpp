#include "stepcast/sim/network/network_map.hpp"

#include <gtest/gtest.h>

#include "stepcast/sim/network/link_faults.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"

namespace stepcast {
namespace {

using namespace literals;

/// Nodes of `per_node` devices in a mesh, one NIC per device, leaves of `leaf_ports` NICs.
ClusterSpec cluster_of(std::int64_t devices, std::int64_t per_node, std::int64_t leaf_ports,
                       double oversubscription) {
  ClusterSpec c;
  c.devices = devices;
  c.node_devices = per_node;
  c.node_fabric = MeshFabric{{50_GBps, Seconds{0}}, 1};
  c.network.nic.link = {25_GBps, Seconds{0}};
  c.network.kind = NetworkSpec::Kind::leaf_spine;
  c.network.leaf_ports = leaf_ports;
  c.network.oversubscription = oversubscription;
  return c;
}

/// Stages that compute nothing but their given times and hand on `boundary` bytes.
std::vector<StageProgram> pipeline_programs(const ParallelPlan& plan, Bytes boundary) {
  SyntheticSpec synthetic;
  synthetic.chunks = {{1_ms, 1_ms, 1_ms}};
  synthetic.boundary = boundary;
  std::vector<StageProgram> programs;
  for (std::uint32_t s = 0; s < plan.pp; ++s)
    programs.push_back(lower_synthetic(synthetic, plan, Stage{s}));
  return programs;
}

struct Job {
  Job(const ClusterSpec& cluster, const ParallelPlan& p, std::vector<StageProgram> stage_programs,
      const StallsSpec& stalls = {})
      : plan{p},
        fabric{cluster, link_faults(stalls, Fabric(cluster))},
        placement{plan},
        programs{std::move(stage_programs)},
        map{build_network_map({placement, fabric, programs, algorithms})} {}
  ParallelPlan plan;
  Fabric fabric;
  Placement placement;
  std::vector<StageProgram> programs;
  CollectiveChoice algorithms;
  NetworkMap map;
};

ParallelPlan plan_of(std::int64_t tp, std::int64_t pp, std::int64_t dp) {
  ParallelPlan plan;
  plan.tp = tp;
  plan.pp = pp;
  plan.dp = dp;
  return plan;
}

// Forward and backward transfers use different directions of different NICs: stage 0 only sends
// forward on its uplink.
TEST(NetworkMap, TransfersOfTwoStagesMeetNothing) {
  const ParallelPlan plan = plan_of(1, 2, 8);
  const Job job(cluster_of(16, 8, 64, 1), plan, pipeline_programs(plan, 25_MiB));
  EXPECT_TRUE(job.map.hop(Channel::output_next, 0).flow.path.empty());
  EXPECT_NEAR(job.map.hop(Channel::output_next, 0).flow.alone, (25_MiB / 25_GBps).value(), 1e-15);
  EXPECT_TRUE(job.map.bandwidths.empty());
}

// A middle stage sends forward and backward on one uplink: there they can meet.
TEST(NetworkMap, MiddleStageSharesItsNic) {
  const ParallelPlan plan = plan_of(1, 3, 8);
  const Job job(cluster_of(24, 8, 64, 1), plan, pipeline_programs(plan, 25_MiB));
  EXPECT_FALSE(job.map.hop(Channel::output_next, 1).flow.path.empty());
  EXPECT_FALSE(job.map.hop(Channel::gradient_previous, 1).flow.path.empty());
  EXPECT_DOUBLE_EQ(job.map.bandwidths.at(job.map.hop(Channel::output_next, 1).flow.path[0].link),
                   25e9);
}

// 16 devices of stage 0 below one leaf send to stage 1 below the other; 4:1 oversubscription leaves
// each a quarter.
TEST(NetworkMap, OversubscribedTrunkIsSharedByEverySenderBelowIt) {
  const ParallelPlan plan = plan_of(1, 2, 16);
  const Job job(cluster_of(32, 8, 16, 4), plan, pipeline_programs(plan, 25_MiB));
  EXPECT_NEAR(job.map.hop(Channel::output_next, 0).flow.alone, 4 * (25_MiB / 25_GBps).value(),
              1e-12);
}

// The same trunk with stages interleaved below each leaf: half of the devices below it send, across
// the spine or not.
TEST(NetworkMap, TransfersBelowOneLeafLeaveTheTrunkAlone) {
  ParallelPlan plan = plan_of(1, 2, 16);
  plan.order = {"tp", "cp", "ep", "pp", "dp"};
  const Job job(cluster_of(32, 8, 16, 4), plan, pipeline_programs(plan, 25_MiB));
  EXPECT_NEAR(job.map.hop(Channel::output_next, 0).flow.alone, (25_MiB / 50_GBps).value(), 1e-12);
}

StageCall call_of(GroupKind group, CollectiveKind kind, Bytes bytes, Stream stream) {
  return {"test", group, {kind, bytes}, stream, ExposedKind::tensor, {}};
}

TEST(NetworkMap, TensorGroupInsideItsMeshIsPrivate) {
  const ParallelPlan plan = plan_of(8, 1, 4);
  auto programs = pipeline_programs(plan, 0_B);
  programs[0].calls = {
      call_of(GroupKind::tensor, CollectiveKind::all_gather, 64_MiB, Stream::tensor),
      call_of(GroupKind::tensor, CollectiveKind::reduce_scatter, 64_MiB, Stream::tensor)};
  const Job job(cluster_of(32, 8, 64, 1), plan, std::move(programs));
  for (const NetworkCall& call : job.map.calls) {
    EXPECT_TRUE(call.lone);
    EXPECT_NEAR(call.alone, (64_MiB / 8 / 50_GBps).value(), 1e-12);
  }
}

// Data-parallel rings and pipeline transfers use the same NICs.
TEST(NetworkMap, GradientsShareTheNicWithTransfers) {
  const ParallelPlan plan = plan_of(8, 2, 4);
  auto programs = pipeline_programs(plan, 25_MiB);
  for (StageProgram& p : programs) {
    p.calls = {call_of(GroupKind::dense_data, CollectiveKind::all_reduce, 64_MiB, Stream::data)};
  }
  const Job job(cluster_of(64, 8, 64, 1), plan, std::move(programs));
  EXPECT_FALSE(job.map.calls[0].lone);
  EXPECT_FALSE(job.map.hop(Channel::output_next, 0).flow.path.empty());
}

// A collective of 4 stages is one call: all of them meet, and the flows are those of the first.
TEST(NetworkMap, CallsAcrossStagesAreOneCall) {
  const ParallelPlan plan = plan_of(1, 4, 8);
  auto programs = pipeline_programs(plan, 0_B);
  for (StageProgram& p : programs) {
    p.calls = {call_of(GroupKind::world, CollectiveKind::all_reduce, 4_B, Stream::data)};
  }
  const Job job(cluster_of(32, 8, 64, 1), plan, std::move(programs));
  ASSERT_EQ(job.map.calls.size(), 1U);
  EXPECT_EQ(job.map.calls[0].arrivals, 4U);
}

// --- damaged links ---

StallsSpec degraded(const char* link, double factor) {
  StallsSpec stalls;
  stalls.degraded_links = {{link, factor}};
  return stalls;
}
StallsSpec failed(const char* link, std::int64_t ports = 1) {
  StallsSpec stalls;
  stalls.failed_links = {{link, ports}};
  return stalls;
}

/// Times of the calls of each device when nothing else moves, over those on intact links.
std::vector<double> slowdowns(const ClusterSpec& cluster, const ParallelPlan& plan, GroupKind group,
                              CollectiveKind kind, const StallsSpec& stalls) {
  auto programs = pipeline_programs(plan, 0_B);
  for (StageProgram& p : programs) p.calls = {call_of(group, kind, 64_MiB, Stream::data)};
  const Job intact(cluster, plan, programs), damaged(cluster, plan, programs, stalls);
  std::vector<double> result;
  for (std::uint32_t r = 0; r < plan.world(); ++r) {
    const auto alone = [r](const Job& job) {
      return job.map.calls[job.map.call_of[job.map.classes.class_of[r]][0]].alone;
    };
    result.push_back(alone(damaged) / alone(intact));
  }
  return result;
}

/// 2 where `slow` holds, 1 elsewhere.
template <class Slow>
void expect_doubled(const std::vector<double>& slowdown, const Slow& slow) {
  for (std::uint32_t r = 0; r < slowdown.size(); ++r)
    EXPECT_NEAR(slowdown[r], slow(r) ? 2 : 1, 1e-12) << r;
}

// Rings over one device of each node, as fast as their slowest NIC.
TEST(NetworkMap, ADegradedNicSlowsItsRingAndNoOther) {
  for (const char* nic : {"nic:9", "nic:9.up", "nic:9.down"}) {
    expect_doubled(slowdowns(cluster_of(32, 8, 64, 1), plan_of(8, 1, 4), GroupKind::data,
                             CollectiveKind::all_reduce, degraded(nic, 0.5)),
                   [](std::uint32_t r) { return r % 8 == 1; });
  }
}

// A failed pair's bytes cross two links that carry as many of their own.
TEST(NetworkMap, AFailedPairDoublesTheLoadOfItsDetour) {
  expect_doubled(slowdowns(cluster_of(32, 8, 64, 1), plan_of(8, 1, 4), GroupKind::tensor,
                           CollectiveKind::all_gather, failed("hccs:9-10")),
                 [](std::uint32_t r) { return r / 8 == 1; });
}

// The ring of a failed NIC moves to the neighbour's, where it is alone as far as the plan of a
// single call goes; the neighbour's ring moves nothing then. Both can meet there.
TEST(NetworkMap, AFailedNicSharesThatOfItsNeighbour) {
  const ParallelPlan plan = plan_of(8, 1, 4);
  auto programs = pipeline_programs(plan, 0_B);
  programs[0].calls = {call_of(GroupKind::data, CollectiveKind::all_reduce, 64_MiB, Stream::data)};
  const Job job(cluster_of(32, 8, 64, 1), plan, programs, failed("nic:9"));
  for (std::uint32_t r = 0; r < 32; ++r) {
    const std::uint32_t of = job.map.classes.class_of[r];
    EXPECT_EQ(job.map.calls[job.map.call_of[of][0]].lone, r % 8 != 1 && r % 8 != 2) << r;
  }
}

// A reduction of the whole world loads the NIC that stands in twice.
TEST(NetworkMap, AFailedNicDoublesTheWorldsTimeOnItsDetour) {
  const auto slowdown = slowdowns(cluster_of(32, 1, 64, 1), plan_of(1, 1, 32), GroupKind::world,
                                  CollectiveKind::all_gather, degraded("nic:9", 0.5));
  expect_doubled(slowdown, [](std::uint32_t) { return true; });
  ClusterSpec pairs = cluster_of(32, 2, 64, 1);
  pairs.node_fabric = SwitchFabric{{BytesPerSecond{1e24}, Seconds{0}}, 1};
  const ParallelPlan plan = plan_of(1, 1, 32);
  auto programs = pipeline_programs(plan, 0_B);
  programs[0].calls = {call_of(GroupKind::world, CollectiveKind::all_to_all, 64_MiB, Stream::data)};
  programs[0].epilogue = {Communicate{0, 0, true}, Wait{0}};
  programs[0].slots = 1;
  const Job intact(pairs, plan, programs), damaged(pairs, plan, programs, failed("nic:9"));
  EXPECT_EQ(damaged.map.calls[0].group, UINT32_MAX);  // planned apart from the groups
  EXPECT_NEAR(damaged.map.calls[0].alone / intact.map.calls[0].alone, 2, 1e-12);
}

// Full bisection: a trunk that was never the limit is, with a quarter of its uplinks left.
TEST(NetworkMap, LostUplinksOfALeafSlowWhatCrossesIt) {
  const ParallelPlan plan = plan_of(1, 2, 16);
  const Job intact(cluster_of(32, 8, 16, 1), plan, pipeline_programs(plan, 25_MiB));
  const Job up(cluster_of(32, 8, 16, 1), plan, pipeline_programs(plan, 25_MiB),
               failed("leaf:0.up", 12));
  EXPECT_NEAR(intact.map.hop(Channel::output_next, 0).flow.alone, (25_MiB / 25_GBps).value(),
              1e-15);
  EXPECT_NEAR(up.map.hop(Channel::output_next, 0).flow.alone, 4 * (25_MiB / 25_GBps).value(),
              1e-12);
  const std::uint32_t last = up.map.classes.class_of[31];
  EXPECT_NEAR(up.map.hop(Channel::gradient_previous, last).flow.alone, (25_MiB / 25_GBps).value(),
              1e-15);
  // A collective across both leaves sees it too.
  const auto slowdown = slowdowns(cluster_of(32, 8, 16, 1), plan_of(1, 1, 32), GroupKind::data,
                                  CollectiveKind::all_to_all, failed("leaf:1.down", 12));
  for (const double factor : slowdown) EXPECT_GT(factor, 1.5);
}

// Groups below either leaf of a group of leaves are planned apart, since channels are named by
// leaves, and send the same: all ranks are one class, and a tensor group meets nothing but itself.
TEST(NetworkMap, GroupsThatSendTheSameAreAlikeWhereverTheyLie) {
  ClusterSpec cluster = cluster_of(64, 4, 8, 1);
  cluster.network.kind = NetworkSpec::Kind::dragonfly_plus;
  cluster.network.dragonfly = {
      .group_routers = 2, .global_links = 2, .global = {25_GBps, Seconds{0}}};
  const ParallelPlan plan = plan_of(8, 1, 8);
  std::vector<StageProgram> programs = pipeline_programs(plan, 0_MiB);
  programs[0].calls.push_back({"reduce",
                               GroupKind::tensor,
                               {CollectiveKind::all_reduce, 1_MiB},
                               Stream::tensor,
                               ExposedKind::tensor,
                               {},
                               "ring"});
  EXPECT_EQ(Job(cluster, plan, programs).map.classes.ranks, std::vector<std::uint32_t>{64});
}

// The links inside a node carry both streams of a device, one at a time each: a call can meet the
// other stream of its own rank there, and nothing else.
TEST(NetworkMap, KnowsWhatACallCanMeet) {
  const ParallelPlan plan = plan_of(8, 1, 2);
  std::vector<StageProgram> programs = pipeline_programs(plan, 0_MiB);
  const auto call = [](GroupKind group, Stream stream) {
    return StageCall{
        "reduce", group, {CollectiveKind::all_reduce, 1_MiB}, stream, ExposedKind::data,
        {},       "ring"};
  };
  programs[0].calls = {call(GroupKind::tensor, Stream::tensor)};
  const Job alone(cluster_of(16, 8, 64, 1), plan, programs);
  EXPECT_TRUE(alone.map.calls[0].lone);
  programs[0].calls.push_back(call(GroupKind::tensor, Stream::data));
  const Job both(cluster_of(16, 8, 64, 1), plan, programs);
  EXPECT_FALSE(both.map.calls[0].lone);
  ASSERT_TRUE(both.map.calls[0].rivals.has_value());
  EXPECT_EQ(*both.map.calls[0].rivals, StreamSet{}.set(static_cast<std::size_t>(Stream::data)));
  EXPECT_EQ(*both.map.calls[1].rivals, StreamSet{}.set(static_cast<std::size_t>(Stream::tensor)));
}

}  // namespace
}  // namespace stepcast
