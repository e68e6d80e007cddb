#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric_graph.hpp"

/// Clusters that are some nodes of a machine: docs/models/fabric.md.
namespace stepcast {
namespace {

/// Nodes of two devices, four to a super-node, leaves of four NICs.
ClusterSpec some_nodes(std::vector<NodeRun> runs) {
  ClusterSpec spec;
  spec.node_devices = 2;
  spec.devices = 0;
  for (const NodeRun& run : runs) spec.devices += 2 * run.nodes;
  spec.allocation = std::move(runs);
  spec.node_fabric = SwitchFabric{{BytesPerSecond{100e9}, Seconds{0}}, 1};
  spec.super_node = SuperNodeSpec{4, {{BytesPerSecond{80e9}, Seconds{0}}, 1}};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{0}};
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.leaf_ports = 4;
  spec.network.oversubscription = 2;
  return spec;
}

TEST(Allocation, SaysWhichSuperNodeAndLeafANodeHas) {
  const Fabric fabric(some_nodes({{2, 3}, {9, 1}}));  // nodes 2, 3, 4, 9
  EXPECT_EQ(fabric.super_node_of({0}), 0U);
  EXPECT_EQ(fabric.super_node_of({3}), 0U);
  EXPECT_EQ(fabric.super_node_of({4}), 1U);
  EXPECT_EQ(fabric.super_node_of({7}), 2U);
  EXPECT_EQ(fabric.super_nodes(), 3);
  EXPECT_EQ(fabric.leaf_of({0}), 1U);  // NICs 4 to 7 of the machine
  EXPECT_EQ(fabric.leaf_of({4}), 2U);
  EXPECT_EQ(fabric.leaf_of({7}), 4U);
  EXPECT_EQ(fabric.locality({0}, {2}), Locality::super_node);
  EXPECT_EQ(fabric.locality({2}, {4}), Locality::spine);
}

/// Two of a leaf's four NICs have all its uplinks for themselves.
TEST(Allocation, ALeafIsFullOnlyWithItsOwnNics) {
  const Fabric fabric(some_nodes({{2, 3}, {9, 1}}));
  EXPECT_TRUE(fabric.can_saturate(fabric.leaf_link(LinkKind::leaf_up, 1)));
  EXPECT_FALSE(fabric.can_saturate(fabric.leaf_link(LinkKind::leaf_up, 2)));
  EXPECT_FALSE(fabric.can_saturate(fabric.leaf_link(LinkKind::leaf_up, 4)));
}

/// The first nodes of the machine, written down, are what no allocation is.
TEST(Allocation, OfTheFirstNodesChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = *rc::gen::inRange<std::int64_t>(1, 12);
    ClusterSpec spec = some_nodes({{0, nodes}});
    spec.network.kind =
        *rc::gen::element(NetworkSpec::Kind::leaf_spine, NetworkSpec::Kind::rail_optimized);
    spec.network.pod_leaves = *rc::gen::inRange<std::int64_t>(0, 3);
    const Fabric written(spec);
    spec.allocation.clear();
    const Fabric first(spec);
    RC_ASSERT(written.link_count() == first.link_count());
    for (std::uint32_t l = 0; l < first.link_count(); ++l)
      RC_ASSERT(written.can_saturate({l}) == first.can_saturate({l}));
    for (std::uint32_t a = 0; a < first.devices(); ++a)
      for (std::uint32_t b = 0; b < first.devices(); ++b)
        RC_ASSERT(written.route({a}, {b}) == first.route({a}, {b}));
    RC_ASSERT(bisection(written).bandwidth == bisection(first).bandwidth);
  }));
}

/// Two halves of two super-nodes: half of the devices in each.
TEST(Allocation, TheBisectionIsThatOfItsParts) {
  const Bisection cut = bisection(Fabric(some_nodes({{2, 2}, {6, 2}})));
  EXPECT_EQ(cut.first, 4);
  EXPECT_DOUBLE_EQ(cut.bandwidth.value(), 50e9);  // one leaf of four NICs, 2:1
}

TEST(Allocation, HasAsManyNodesAsTheCluster) {
  ClusterSpec spec = some_nodes({{2, 3}});
  spec.devices = 8;
  EXPECT_THROW(Fabric{spec}, InputError);
}

}  // namespace
}  // namespace stepcast
