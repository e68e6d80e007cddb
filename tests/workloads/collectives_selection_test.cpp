#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "workloads/collective_fabrics.hpp"
#include "workloads/collectives/algorithms.hpp"

/// Which algorithm HCCL's selection takes, and NCCL's. docs/models/collectives.md, "auto".
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;

std::string chosen(const ClusterSpec& spec, std::int64_t members, const CollectiveCall& call) {
  return plan_collective(Fabric(spec), first_devices(members), call, "auto").algorithm;
}

TEST(CollectiveSelection, CostsBetweenServers) {
  ClusterSpec spec = cluster({.nodes = 8, .nic = {BytesPerSecond{20e9}, Seconds{0}}});
  spec.network.nic.efficiency = 0.5;  // 10 GB/s
  const double a = 20e-6;
  for (std::size_t servers = 2; servers <= 9; ++servers) {
    const auto costs = collectives::server_costs(spec, servers, Bytes{1e6});
    const double s = static_cast<double>(servers), whole = 1e6 / 10e9;
    const double steps = std::ceil(std::log2(s)), once = (s - 1) / s * whole;
    const bool power = servers == 2 || servers == 4 || servers == 8;
    EXPECT_DOUBLE_EQ(costs.ring.value(), (s - 1) * a + once);
    EXPECT_DOUBLE_EQ(costs.nhr.value(), steps * a + once);
    EXPECT_DOUBLE_EQ(costs.hd.value(), steps * a + (power ? once : (2 * s - 1) / s * whole));
  }
  spec.collectives.buffer = Bytes{4e5};
  EXPECT_DOUBLE_EQ(collectives::server_costs(spec, 2, Bytes{1e6}).ring.value(), a + 0.5 * 40e-6);
  spec.collectives.selection_latency_given = true;
  spec.collectives.selection_latency = Seconds{7e-6};
  EXPECT_DOUBLE_EQ(collectives::server_costs(spec, 3, Bytes{0}).ring.value(), 14e-6);
}

TEST(CollectiveSelection, ServersByCost) {
  const std::vector<std::pair<std::int64_t, std::string>> expected{
      {2, "ring"}, {3, "ring"}, {4, "nhr"}, {6, "nhr"}, {8, "nhr"}};
  for (const auto& [servers, pattern] : expected) {
    const ClusterSpec spec = cluster({.nodes = servers,
                                      .per_node = 8,
                                      .nic = {BytesPerSecond{25e9}, Seconds{0}},
                                      .step = Seconds{60e-6}});
    const Fabric fabric(spec);
    const auto plan = plan_collective(fabric, first_devices(spec.devices),
                                      {Kind::all_reduce, Bytes{1048576}}, "auto");
    EXPECT_EQ(plan.algorithm, "hierarchical(mesh, " + pattern + ")") << servers;
  }
}

TEST(CollectiveSelection, MeshNodes) {
  const Fabric fabric(cluster({.nodes = 4, .per_node = 8}));
  const auto chosen = [&](std::int64_t members, Kind kind, double bytes) {
    return plan_collective(fabric, first_devices(members), {kind, Bytes{bytes}}, "auto").algorithm;
  };
  EXPECT_EQ(chosen(8, Kind::all_reduce, 262144), "one_shot");
  EXPECT_EQ(chosen(8, Kind::all_reduce, 262145), "mesh");
  EXPECT_EQ(chosen(8, Kind::all_to_all, 1e6), "mesh");
  EXPECT_EQ(chosen(32, Kind::all_gather, 32 * 32768), "pipeline");
  EXPECT_EQ(chosen(32, Kind::all_gather, 32 * 32768 - 1), "hierarchical(mesh, nhr)");
  EXPECT_EQ(chosen(32, Kind::all_reduce, 32 * 1048576), "pipeline");
  EXPECT_EQ(chosen(32, Kind::all_to_all, 1e8), "hierarchical(mesh, pairwise)");
  EXPECT_EQ(chosen(12, Kind::all_reduce, 1e8), "ring");
  EXPECT_EQ(chosen(12, Kind::all_to_all, 1e8), "pairwise");
}

// HCCL_ALGO alltoall=level0:NA;level1:pipeline: where it does not fit, what was chosen without.
TEST(CollectiveSelection, PipelinedExchanges) {
  ClusterSpec spec = cluster({.nodes = 4, .per_node = 8});
  spec.collectives.exchange = CollectiveLibrarySpec::Exchange::pipeline;
  spec.collectives.buffer = Bytes{80.0 * 1048576};
  const auto exchange = [&](std::int64_t members) {
    return chosen(spec, members, {Kind::all_to_all, Bytes{1e8}});
  };
  EXPECT_EQ(exchange(32), "pipeline");
  EXPECT_EQ(exchange(8), "mesh");
  EXPECT_EQ(exchange(12), "pairwise");
  const Fabric fabric(spec);
  EXPECT_EQ(plan_collective(fabric, first_devices(4, 8), {Kind::all_to_all, Bytes{1e8}}, "auto")
                .algorithm,
            "pairwise");
  spec.collectives.buffer = Bytes{79.0 * 1048576};
  EXPECT_EQ(exchange(32), "hierarchical(mesh, pairwise)");
}

TEST(CollectiveSelection, SuperNodes) {
  ClusterSpec spec = switched({.nodes = 12, .per_node = 16});
  spec.super_node = SuperNodeSpec{.nodes = 4, .fabric = {{BytesPerSecond{196e9}, Seconds{0}}, 1}};
  const Fabric fabric(spec);
  const auto chosen = [&](std::int64_t members, Kind kind, double bytes) {
    return plan_collective(fabric, first_devices(members), {kind, Bytes{bytes}}, "auto").algorithm;
  };
  EXPECT_EQ(chosen(64, Kind::all_to_all, 1e8), "mesh");
  EXPECT_EQ(chosen(64, Kind::all_reduce, 64 * 262144), "nhr");
  EXPECT_EQ(chosen(64, Kind::all_reduce, 1e8), "hierarchical(ring, nhr)");
  EXPECT_EQ(chosen(192, Kind::all_reduce, 1e9), "hierarchical(ring, nhr, ring)");
  EXPECT_EQ(chosen(128, Kind::all_reduce, 1e9), "hierarchical(ring, nhr, hd)");
  EXPECT_EQ(chosen(192, Kind::all_to_all, 1e9), "hierarchical(mesh, pairwise)");
}

// Five nodes in super-nodes of four and one: the nodes are one tier, and no exchange is staged.
TEST(CollectiveSelection, ASmallerLastSuperNode) {
  ClusterSpec spec = switched({.nodes = 5, .per_node = 4});
  spec.super_node = SuperNodeSpec{.nodes = 4, .fabric = {{BytesPerSecond{196e9}, Seconds{0}}, 1}};
  const auto all = [&](Kind kind) { return chosen(spec, 20, {kind, Bytes{1e9}}); };
  EXPECT_EQ(all(Kind::all_reduce).substr(0, 19), "hierarchical(ring, ");
  EXPECT_EQ(std::ranges::count(all(Kind::all_reduce), ','), 1);
  EXPECT_EQ(all(Kind::all_to_all), "pairwise");
  EXPECT_EQ(chosen(spec, 16, {Kind::all_reduce, Bytes{1e9}}), "hierarchical(ring, nhr)");
}

TEST(CollectiveSelection, ARingOfFewSuperNodesThatAreNoPowerOfTwo) {
  for (const auto& [supers, outer] : {std::pair{2, "hd"},
                                      {3, "ring"},
                                      {4, "hd"},
                                      {5, "ring"},
                                      {6, "ring"},
                                      {7, "ring"},
                                      {8, "hd"},
                                      {9, "hd"},
                                      {10, "hd"}}) {
    ClusterSpec spec = switched({.nodes = 2 * supers, .per_node = 2});
    spec.super_node = SuperNodeSpec{.nodes = 2, .fabric = {{BytesPerSecond{196e9}, Seconds{0}}, 1}};
    EXPECT_EQ(chosen(spec, spec.devices, {Kind::all_reduce, Bytes{1e9}}),
              "hierarchical(ring, nhr, " + std::string(outer) + ")");
  }
}

TEST(CollectiveSelection, SwitchedAndGroupedNodes) {
  const ClusterSpec ports = switched({.per_node = 8});
  EXPECT_EQ(chosen(ports, 8, {Kind::all_gather, Bytes{8 * 1048576}}), "mesh");
  EXPECT_EQ(chosen(ports, 8, {Kind::all_gather, Bytes{8 * 1048576 + 1}}), "ring");
  EXPECT_EQ(chosen(ports, 8, {Kind::all_to_all, Bytes{1e9}}), "mesh");
  ClusterSpec groups = cluster({.per_node = 8});
  groups.node_fabric =
      GroupFabric{4, {BytesPerSecond{30e9}, Seconds{0}}, {BytesPerSecond{16e9}, Seconds{0}}, 1};
  EXPECT_EQ(chosen(groups, 8, {Kind::all_reduce, Bytes{1024}}), "ring");
  EXPECT_EQ(chosen(groups, 8, {Kind::all_to_all, Bytes{1024}}), "pairwise");
  EXPECT_EQ(chosen(groups, 4, {Kind::all_reduce, Bytes{1024}}), "one_shot");
}

TEST(CollectiveSelection, PipelinesBetweenMeshesByTheBytesOfARank) {
  const ClusterSpec spec = cluster({.nodes = 4, .per_node = 8});
  EXPECT_EQ(chosen(spec, 32, {Kind::reduce_scatter, Bytes{32 * 32768}}), "pipeline");
  EXPECT_EQ(chosen(spec, 32, {Kind::reduce_scatter, Bytes{32 * 32768 - 1}}),
            "hierarchical(mesh, nhr)");
  EXPECT_EQ(chosen(spec, 32, {Kind::all_reduce, Bytes{32 * 1048576 - 1}}),
            "hierarchical(mesh, nhr)");
  // One device of a node each: the pattern between servers alone.
  const ClusterSpec lone = cluster({.nodes = 4});
  EXPECT_EQ(chosen(lone, 4, {Kind::all_reduce, Bytes{1048576}}), "nhr");
  EXPECT_EQ(chosen(lone, 4, {Kind::broadcast, Bytes{1048576}}), "nhr");
  EXPECT_EQ(chosen(lone, 4, {Kind::all_to_all, Bytes{1048576}}), "pairwise");
}

}  // namespace
}  // namespace stepcast
