#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/in_child.hpp"
#include "sim/network/lone_collective.hpp"
#include "workloads/collective_fabrics.hpp"

/// A lone collective takes the same time as ports and as pairs, on the engine.
/// docs/models/collectives.md, "As pairs".
namespace stepcast {
namespace {

using testing::LoneCase;
using testing::LoneResult;
using Kind = CollectiveKind;

/// Messages of one step differ in size where members stand for two. On a trunk the small ones end
/// first and leave it to large ones that their NICs hold back; as ports all end together.
bool unequal_messages(const LoneCase& c) {
  const bool scatters = c.call.kind == Kind::reduce_scatter || c.call.kind == Kind::all_gather;
  return c.algorithm == "hd" && scatters &&
         !std::has_single_bit(static_cast<std::uint64_t>(c.ranks));
}

LoneResult as_pairs(const LoneCase& c) {
  const auto numbers = testing::in_child([&] {
    const LoneResult r = testing::run_lone(c, NetworkForm::pairwise);
    return std::vector<double>{r.time, r.alone, r.flows};
  });
  if (numbers.size() != 3) return {};
  return {numbers[0], numbers[1], numbers[2]};
}

std::string text(const LoneCase& c) {
  return c.algorithm + " " + name(c.call.kind) + " over " + std::to_string(c.ranks) +
         " ranks, stride " + std::to_string(c.stride);
}

/// What the cases of a test came to.
struct Tally {
  int cases = 0, shared = 0;
};

void compare(const LoneCase& c, Tally& tally) {
  const LoneResult ports = testing::run_lone(c, NetworkForm::ports);
  const LoneResult pairs = as_pairs(c);
  ASSERT_GT(pairs.time, 0) << text(c);
  EXPECT_EQ(ports.flows, 0) << text(c);
  EXPECT_NEAR(ports.alone, ports.time, 1e-9 * ports.time) << text(c);
  EXPECT_NEAR(pairs.alone, pairs.time, 1e-9 * pairs.time) << text(c);
  ++tally.cases;
  if (pairs.flows > 0) ++tally.shared;
  if (unequal_messages(c)) {
    EXPECT_GE(pairs.time, ports.time * (1 - 1e-9)) << text(c);
    EXPECT_LE(pairs.time, ports.time * 1.02) << text(c);
  } else {
    EXPECT_NEAR(pairs.time, ports.time, 1e-9 * ports.time) << text(c);
  }
}

/// Every kind by every algorithm that makes it of this group.
void compare_all(const LoneCase& group, Tally& tally) {
  const Fabric fabric(group.cluster);
  const auto members = test::first_devices(group.ranks, group.stride);
  for (const NamedAlgorithm& algorithm : collective_algorithms())
    for (std::size_t k = 0; k < collective_kinds; ++k) {
      LoneCase c = group;
      c.call = {static_cast<Kind>(k), Bytes{64e6}};
      c.algorithm = algorithm.name;
      if (algorithm.plan(fabric, members, c.call, NetworkForm::ports)) compare(c, tally);
    }
}

enum class NodeForm { mesh, switched, groups };

ClusterSpec cluster_of(NodeForm node, std::int64_t devices) {
  const test::Shape shape{.nodes = (devices + 7) / 8, .per_node = 8};
  ClusterSpec spec = node == NodeForm::switched ? test::switched(shape) : test::cluster(shape);
  if (node == NodeForm::groups)
    spec.node_fabric = GroupFabric{4, shape.inside, {BytesPerSecond{16e9}, Seconds{0}}, 1};
  return spec;
}

struct Setting {
  NodeForm node;
  NetworkSpec::Kind network;
  std::int64_t leaf_ports;  ///< 12: leaves hold a node and a half; 3: rails of three nodes
};

class LoneCollective : public ::testing::TestWithParam<Setting> {};

TEST_P(LoneCollective, TakesTheSameTimeInBothForms) {
  const Setting setting = GetParam();
  Tally tally;
  for (const double oversubscription : {1.0, 2.0, 3.0, 4.0})
    for (const std::int64_t ranks : {2, 3, 8, 12, 16, 20, 24, 64}) {
      ClusterSpec spec = cluster_of(setting.node, ranks);
      spec.network.kind = setting.network;
      spec.network.leaf_ports = setting.leaf_ports;
      spec.network.oversubscription = oversubscription;
      compare_all({spec, ranks}, tally);
    }
  EXPECT_GT(tally.cases, 600);
  EXPECT_GT(tally.shared, 100);  // or the comparison would say nothing
}

std::string label(const ::testing::TestParamInfo<Setting>& info) {
  const auto& [node, network, leaf_ports] = info.param;
  return std::string(node == NodeForm::mesh ? "mesh" : "switch") + "_" +
         (network == NetworkSpec::Kind::leaf_spine ? "leaf_spine" : "rail_optimized") + "_" +
         std::to_string(leaf_ports);
}

INSTANTIATE_TEST_SUITE_P(
    LeavesFullAndPartlyFilled, LoneCollective,
    ::testing::Values(Setting{NodeForm::mesh, NetworkSpec::Kind::leaf_spine, 8},
                      Setting{NodeForm::mesh, NetworkSpec::Kind::leaf_spine, 12},
                      Setting{NodeForm::mesh, NetworkSpec::Kind::rail_optimized, 3},
                      Setting{NodeForm::switched, NetworkSpec::Kind::leaf_spine, 8},
                      Setting{NodeForm::switched, NetworkSpec::Kind::leaf_spine, 12},
                      Setting{NodeForm::switched, NetworkSpec::Kind::rail_optimized, 3}),
    label);

// One member per node, every other device, and groups of meshes.
TEST(LoneCollectiveShapes, StridesAndGroups) {
  Tally tally;
  for (const std::int64_t stride : {2, 8})
    for (const std::int64_t ranks : {5, 16}) {
      ClusterSpec spec = cluster_of(NodeForm::mesh, ranks * stride);
      spec.network.kind = NetworkSpec::Kind::leaf_spine;
      spec.network.leaf_ports = 24;
      spec.network.oversubscription = 4;
      compare_all({spec, ranks, stride}, tally);
    }
  for (const std::int64_t ranks : {6, 8, 32})
    compare_all({cluster_of(NodeForm::groups, ranks), ranks}, tally);
  EXPECT_GT(tally.shared, 10);
}

// Switched nodes behind ports, in super-nodes of three.
TEST(LoneCollectiveShapes, SuperNodes) {
  Tally tally;
  for (const std::int64_t ranks : {12, 24, 64})
    for (const double port : {20e9, 60e9}) {
      ClusterSpec spec = cluster_of(NodeForm::switched, ranks);
      spec.super_node = SuperNodeSpec{3, {{BytesPerSecond{port}, Seconds{1e-6}}, 0.9}};
      spec.network.kind = NetworkSpec::Kind::leaf_spine;
      spec.network.leaf_ports = 12;
      spec.network.oversubscription = 2;
      compare_all({spec, ranks}, tally);
    }
  EXPECT_GT(tally.shared, 10);
}

TEST(LoneCollectiveShapes, RailRingsAndTreesOfNccl) {
  Tally tally;
  for (const std::int64_t ranks : {16, 24, 64}) {
    ClusterSpec spec = cluster_of(NodeForm::switched, ranks);
    spec.collectives.library = CollectiveLibrarySpec::Library::nccl;
    spec.network.kind = NetworkSpec::Kind::leaf_spine;
    spec.network.leaf_ports = 12;
    spec.network.oversubscription = 3;
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::broadcast})
      compare({spec, ranks, 1, {kind, Bytes{64e6}}, "ring"}, tally);
    compare({spec, ranks, 1, {Kind::all_reduce, Bytes{64e6}}, "tree"}, tally);
  }
}

TEST(LoneCollectiveShapes, LargeGroups) {
  Tally tally;
  const std::int64_t most = 192;
  ClusterSpec spec = cluster_of(NodeForm::switched, most);
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.leaf_ports = 48;
  spec.network.oversubscription = 2;
  for (const char* algorithm : {"ring", "nhr", "hd", "hierarchical", "pipeline", "tree"})
    compare({spec, most, 1, {Kind::all_reduce, Bytes{64e6}}, algorithm}, tally);
  for (const char* algorithm : {"pairwise", "hierarchical"})
    compare({spec, most, 1, {Kind::all_to_all, Bytes{64e6}}, algorithm}, tally);
}

// Five members below leaves of three at 2:1, trunk 1.5 NICs. Across the leaves go two parts and one
// part of n / 5: as ports they need 2 parts / NIC, as flows of their own 1 / 0.75 + 1 = 7 / 3.
TEST(LoneCollectiveShapes, UnequalMessagesEndOneAfterTheOther) {
  ClusterSpec spec = test::cluster({.nodes = 5, .node_step = Seconds{0}, .step = Seconds{0}});
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.leaf_ports = 3;
  spec.network.oversubscription = 2;
  const LoneCase c{spec, 5, 1, {Kind::reduce_scatter, Bytes{110e6}}, "hd"};
  const double part = 110e6 / 5 / 22e9;
  EXPECT_NEAR(testing::run_lone(c, NetworkForm::ports).time, (5 + 3 + 2 + 1) * part, 1e-12);
  EXPECT_NEAR(as_pairs(c).time, (5 + 3 + 7.0 / 3 + 1) * part, 1e-12);
}

}  // namespace
}  // namespace stepcast
