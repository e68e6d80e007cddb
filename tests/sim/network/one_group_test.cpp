#include <gtest/gtest.h>

#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {
namespace {

using namespace literals;

/// Two nodes of four devices in a mesh, one NIC each.
ClusterSpec one_group_nodes() {
  ClusterSpec cluster;
  cluster.devices = 8;
  cluster.node_devices = 4;
  cluster.node_fabric = MeshFabric{{100_GBps, Seconds{0}}, 1};
  cluster.network.nic.link = {25_GBps, Seconds{0}};
  cluster.network.nic.per = NicSpec::Per::node;
  return cluster;
}

StageProgram calling(StageCall call) {
  StageProgram program;
  program.calls = {std::move(call)};
  program.slots = 1;
  program.chunks.resize(1);
  program.epilogue = {Communicate{0, 0, true}, Wait{0}};
  return program;
}

NetworkCall planned(const ClusterSpec& cluster, const ParallelPlan& plan, const StageCall& call,
                    Fold fold) {
  const Fabric fabric(cluster);
  const Placement placement(plan);
  const std::vector<StageProgram> programs{calling(call)};
  const CollectiveChoice ring{{"ring", "ring", "ring", "pairwise", "ring"}};
  return build_network_map({placement, fabric, programs, ring, fold}).calls.front();
}

StageCall gather() {
  return {"gather",     GroupKind::dense_data, {CollectiveKind::all_gather, 50_MiB},
          Stream::data, ExposedKind::data,     {}};
}

// Four groups of two ranks share the NICs: each alone takes a fourth of the time of all together.
TEST(OneGroup, IsAloneFoldedOrNot) {
  ParallelPlan plan;
  plan.tp = 4;
  plan.dp = 2;
  const double alone = (50_MiB / 2 / 25_GBps).value();
  const NetworkCall folded = planned(one_group_nodes(), plan, gather(), Fold::automatic);
  EXPECT_NEAR(folded.one_group, alone, 1e-12);
  EXPECT_NEAR(folded.alone, 4 * alone, 1e-12);
  EXPECT_NEAR(planned(one_group_nodes(), plan, gather(), Fold::off).one_group, alone, 1e-12);
}

/// Tokens for the experts of rank e go to it: `factor[e]` times the mean.
StageCall exchange(GroupKind group, std::vector<double> factor) {
  return {"exchange",
          group,
          {CollectiveKind::all_to_all, 64_MiB, Skew{.factor = std::move(factor)}},
          Stream::expert,
          ExposedKind::expert,
          {}};
}

// Both nodes hold two ranks of the expert group: the inner hop has two members and four factors.
TEST(OneGroup, OfUnequalExpertsIsAsThePlanSays) {
  ParallelPlan plan;
  plan.dp = plan.ep = 8;
  plan.expert_part = 4;
  const ClusterSpec cluster = one_group_nodes();
  const Placement placement(plan);
  CollectiveTimes times(cluster, {{"ring", "ring", "ring", "pairwise", "ring"}});
  const std::vector<double> factor{3, 1, 0.5, 0.5, 1, 0.25, 1.5, 0.25};
  for (const GroupKind group :
       {GroupKind::expert, GroupKind::expert_inner, GroupKind::expert_outer}) {
    const StageCall call = exchange(group, factor);
    EXPECT_NEAR(times.alone(placement, call, Rank{0}),
                planned(cluster, plan, call, Fold::off).one_group, 1e-12);
    const StageCall other = exchange(group, std::vector<double>(8, 1));
    EXPECT_NEAR(times.alone(placement, other, Rank{0}),
                planned(cluster, plan, other, Fold::off).one_group, 1e-12);
  }
}

// Two ranks exchange over their NICs, one of them three times as much: the phase ends with that.
TEST(OneGroup, EndsWithTheLongerOfTwoFlows) {
  ClusterSpec cluster = one_group_nodes();
  cluster.devices = 2;
  cluster.node_devices = 1;
  ParallelPlan plan;
  plan.dp = plan.ep = 2;
  for (const std::vector<double>& factor : {std::vector<double>{1.5, 0.5}, {0.5, 1.5}})
    EXPECT_NEAR(planned(cluster, plan, exchange(GroupKind::expert, factor), Fold::off).one_group,
                (1.5 * 64_MiB / 2 / 25_GBps).value(), 1e-12);
}

}  // namespace
}  // namespace stepcast
