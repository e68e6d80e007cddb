#include <gtest/gtest.h>

#include <algorithm>

#include "lone_collective.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/topology/collisions.hpp"

namespace stepcast {
namespace {

using namespace literals;

constexpr std::int64_t ports = 16;
constexpr Bytes boundary = 25_MiB;
const double at_the_nic = (boundary / 25_GBps).value();

/// Two leaves of 16 NICs, one for each stage: 16 senders cross.
ClusterSpec two_leaves() {
  ClusterSpec c;
  c.devices = 2 * ports;
  c.node_devices = 8;
  c.node_fabric = MeshFabric{{50_GBps, Seconds{0}}, 1};
  c.network.nic.link = {25_GBps, Seconds{0}};
  c.network.kind = NetworkSpec::Kind::leaf_spine;
  c.network.leaf_ports = ports;
  return c;
}

NetworkMap map_of(const ClusterSpec& cluster, std::optional<std::uint64_t> seed = {},
                  Fold fold = Fold::automatic, std::vector<std::uint64_t> rank_keys = {}) {
  ParallelPlan plan;
  plan.pp = 2;
  plan.dp = cluster.devices / plan.pp;
  SyntheticSpec synthetic;
  synthetic.chunks = {{1_ms, 1_ms, 1_ms}};
  synthetic.boundary = boundary;
  std::vector<StageProgram> programs;
  for (std::uint32_t s = 0; s < plan.pp; ++s)
    programs.push_back(lower_synthetic(synthetic, plan, Stage{s}));
  const Fabric fabric(cluster);
  const Placement placement(plan);
  const CollectiveChoice algorithms;
  return build_network_map({.placement = placement,
                            .fabric = fabric,
                            .programs = programs,
                            .algorithms = algorithms,
                            .fold = fold,
                            .rank_keys = std::move(rank_keys),
                            .hash_seed = seed});
}

double transfer(const NetworkMap& map) { return map.hop(Channel::output_next, 0).flow.alone; }

TEST(TrunkCollisions, IdealRoutingHasNone) {
  const NetworkMap map = map_of(two_leaves());
  EXPECT_NEAR(transfer(map), at_the_nic, 1e-12);
  EXPECT_EQ(map.fullest_uplink, 0);
}

// Up from one leaf and down to the other: two trunks of 16 uplinks.
TEST(TrunkCollisions, TransfersWaitForTheFullestUplink) {
  ClusterSpec cluster = two_leaves();
  cluster.network.routing = NetworkSpec::Routing::ecmp;
  const double hashed = fullest_uplink({ports, ports, 2}, 1);
  EXPECT_NEAR(transfer(map_of(cluster)), hashed * at_the_nic, 1e-9 * at_the_nic);
  EXPECT_NEAR(map_of(cluster).fullest_uplink, hashed, 1e-12);
  EXPECT_TRUE(map_of(cluster).bandwidths.empty()) << "nothing meets on a trunk that cannot fill";
  cluster.network.queue_pairs = 8;
  const double cut = fullest_uplink({8 * ports, ports, 2}, 1) / 8;
  EXPECT_NEAR(transfer(map_of(cluster)), cut * at_the_nic, 1e-9 * at_the_nic);
  cluster.network.routing = NetworkSpec::Routing::adaptive;
  const double adaptive = fullest_uplink({8 * ports, ports, 2}, 2) / 8;
  EXPECT_NEAR(transfer(map_of(cluster)), adaptive * at_the_nic, 1e-9 * at_the_nic);
  EXPECT_LT(adaptive, cut);
}

TEST(TrunkCollisions, OtherJobsTakeTheirPartOfTheUplinks) {
  ClusterSpec cluster = two_leaves();
  cluster.network.background = 0.5;
  EXPECT_NEAR(transfer(map_of(cluster)), 2 * at_the_nic, 1e-9 * at_the_nic);
  cluster.network.routing = NetworkSpec::Routing::ecmp;
  EXPECT_NEAR(transfer(map_of(cluster)), 2 * fullest_uplink({ports, ports, 2}, 1) * at_the_nic,
              1e-9 * at_the_nic);
}

// A NIC of a whole node is as fast as the one uplink of its leaf and carries the same flows, but
// nothing is hashed onto it.
TEST(TrunkCollisions, FoldingTellsATrunkFromANicThatIsAsFast) {
  ClusterSpec cluster = two_leaves();
  cluster.devices = 4;
  cluster.node_devices = 2;
  cluster.network.nic.per = NicSpec::Per::node;
  cluster.network.leaf_ports = 1;
  cluster.network.routing = NetworkSpec::Routing::adaptive;
  const std::vector<std::uint64_t> unlike{0, 1, 2, 3};
  const NetworkMap folded = map_of(cluster, {}, Fold::automatic, unlike);
  const NetworkMap alone = map_of(cluster, {}, Fold::off, unlike);
  EXPECT_EQ(folded.fullest_uplink, 2);
  EXPECT_EQ(folded.fullest_uplink, alone.fullest_uplink);
  EXPECT_EQ(transfer(folded), transfer(alone));
}

// A ring of NCCL puts three times as much on a GPU's port as on its NIC, and a third is one sender.
TEST(TrunkCollisions, ACollectiveHasASenderForEachNicThatItUses) {
  testing::LoneCase ring{.cluster = two_leaves(), .ranks = 8};
  ring.cluster.devices = 8;
  ring.cluster.node_devices = 4;
  ring.cluster.node_fabric = SwitchFabric{{400_GBps, Seconds{0}}, 1};
  ring.cluster.network.leaf_ports = 4;
  ring.cluster.network.routing = NetworkSpec::Routing::ecmp;
  ring.cluster.collectives.library = CollectiveLibrarySpec::Library::nccl;
  ring.call.bytes = 1_GiB;
  ring.algorithm = "ring";
  const Fabric fabric(ring.cluster);
  const Placement placement(testing::plan_of(ring));
  const std::vector<StageProgram> programs = testing::programs_of(ring);
  const CollectiveChoice algorithms;
  const NetworkMap map = build_network_map({placement, fabric, programs, algorithms});
  // Up from both leaves and down to both: four trunks of four uplinks.
  EXPECT_NEAR(map.fullest_uplink, fullest_uplink({4, 4, 4}, 1), 1e-12);
}

TEST(TrunkCollisions, ADrawnHashIsKeyedByTrunkAndPurpose) {
  ClusterSpec cluster = two_leaves();
  cluster.network.routing = NetworkSpec::Routing::ecmp;
  const Fabric fabric(cluster);
  const auto purpose =
      static_cast<std::uint32_t>(group_kinds) + static_cast<std::uint32_t>(Channel::output_next);
  bool differ = false;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const HashedParts hashed{ports, ports, 2};
    const auto on = [&](LinkKind kind, std::uint32_t leaf) {
      return drawn_fullest_uplink(hashed, 1, seed, fabric.leaf_link(kind, leaf).value, purpose);
    };
    const auto fullest = std::max(on(LinkKind::leaf_up, 0), on(LinkKind::leaf_down, 1));
    const double time = transfer(map_of(cluster, seed));
    EXPECT_NEAR(time, static_cast<double>(fullest) * at_the_nic, 1e-9 * at_the_nic) << seed;
    EXPECT_EQ(time, transfer(map_of(cluster, seed)));
    EXPECT_NEAR(time, transfer(map_of(cluster, seed, Fold::off)), 1e-9 * time);
    differ = differ || time != transfer(map_of(cluster, seed + 1));
  }
  EXPECT_TRUE(differ);
}

}  // namespace
}  // namespace stepcast
