#include <gtest/gtest.h>

#include <cmath>

#include "collective_fabrics.hpp"
#include "stepcast/base/errors.hpp"

/// Closed forms of the HCCL user guide.
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;

constexpr Bytes size{64.0 * 1048576};

ClusterSpec flat(std::int64_t ranks) {
  return cluster(
      {.nodes = ranks, .nic = {BytesPerSecond{50e9}, Seconds{0}}, .step = Seconds{10e-6}});
}

ClusterSpec one_node(std::int64_t ranks) {
  return cluster({.per_node = ranks, .inside = {BytesPerSecond{50e9}, Seconds{0}}});
}

TEST(CollectiveFormulas, FlatAlgorithmsOverEightRanks) {
  EXPECT_NEAR(time_of(flat(8), {Kind::all_reduce, size}, "ring"), 2.48881e-3, 5e-9);
  EXPECT_NEAR(time_of(one_node(8), {Kind::all_reduce, size}, "ring"), 2.48881e-3, 5e-9);
  EXPECT_NEAR(time_of(flat(8), {Kind::reduce_scatter, size}, "ring"), 1.24441e-3, 5e-9);
  EXPECT_NEAR(time_of(flat(8), {Kind::all_gather, size}, "ring"), 1.24441e-3, 5e-9);
  for (const char* algorithm : {"nhr", "nb", "hd"})
    EXPECT_NEAR(time_of(flat(8), {Kind::all_reduce, size}, algorithm), 2.40881e-3, 5e-9);
  EXPECT_NEAR(time_of(one_node(8), {Kind::all_gather, size}, "mesh"), 0.177772e-3, 5e-10);
  EXPECT_NEAR(time_of(one_node(8), {Kind::reduce_scatter, size}, "mesh"), 0.177772e-3, 5e-10);
  EXPECT_NEAR(time_of(one_node(8), {Kind::all_reduce, size}, "mesh"), 0.355544e-3, 5e-10);
}

// Two pods of four at 4:1 have one NIC's bandwidth between them: half of all bytes of an exchange
// cross it, and a ring once.
TEST(CollectiveFormulas, PodsLimitExchangesAndNotRings) {
  ClusterSpec pods =
      cluster({.nodes = 8, .nic = {BytesPerSecond{50e9}, Seconds{0}}, .step = Seconds{0}});
  pods.network.kind = NetworkSpec::Kind::leaf_spine;
  pods.network.leaf_ports = 2;
  pods.network.pod_leaves = 2;
  pods.network.pod_oversubscription = 4;
  const double all = size.value() / 50e9;
  EXPECT_NEAR(time_of(pods, {Kind::all_to_all, size}, "pairwise"), 4 * 0.5 * all, 1e-9);
  EXPECT_NEAR(time_of(pods, {Kind::all_reduce, size}, "ring"), 2 * 7.0 / 8 * all, 1e-9);
  pods.network.pod_oversubscription = 1;
  EXPECT_NEAR(time_of(pods, {Kind::all_to_all, size}, "pairwise"), 7.0 / 8 * all, 1e-9);
}

TEST(CollectiveFormulas, HalvingDoublingFoldsOddRanks) {
  EXPECT_NEAR(time_of(flat(6), {Kind::all_reduce, size}, "hd"), 4.75762e-3, 1e-8);
}

TEST(CollectiveFormulas, PairwiseTakesAStepPerPeer) {
  const double part = size.value() / 8 / 50e9;
  EXPECT_NEAR(time_of(flat(8), {Kind::all_to_all, size}, "pairwise"), 7 * (10e-6 + part), 1e-12);
  EXPECT_NEAR(time_of(one_node(8), {Kind::all_to_all, size}, "pairwise"), 7 * (10e-6 + part),
              1e-12);
  EXPECT_NEAR(time_of(one_node(8), {Kind::all_to_all, size}, "mesh"), 10e-6 + part, 1e-12);
  // around a ring: in step k of n - 1 the parts of n - k others, n (n - 1) / 2 in all
  EXPECT_NEAR(time_of(flat(8), {Kind::all_to_all, size}, "ring"), 7 * 10e-6 + 28 * part, 1e-12);
}

// Kernels write to all peers at once, and reach a part of the links.
TEST(CollectiveFormulas, OneSidedWritesPayOneLatency) {
  const double part = size.value() / 8 / 50e9;
  EXPECT_NEAR(time_of(flat(8), {Kind::all_to_all, size}, "one_sided"), 10e-6 + 7 * part, 1e-12);
  ClusterSpec slower = flat(8);
  slower.collectives.one_sided.bandwidth = 0.5;
  EXPECT_NEAR(time_of(slower, {Kind::all_to_all, size}, "one_sided"), 10e-6 + 14 * part, 1e-12);
  slower.collectives.one_sided = {.bandwidth = 1, .node_bandwidth = 0.5};
  EXPECT_NEAR(time_of(slower, {Kind::all_to_all, size}, "one_sided"), 10e-6 + 7 * part, 1e-12);
}

TEST(CollectiveFormulas, Broadcasts) {
  const double whole = size.value() / 50e9;
  EXPECT_NEAR(time_of(flat(8), {Kind::broadcast, size}, "ring"), 7 * (10e-6 + whole), 1e-12);
  EXPECT_NEAR(time_of(flat(8), {Kind::broadcast, size}, "hd"), 3 * (10e-6 + whole), 1e-12);
  EXPECT_NEAR(time_of(flat(8), {Kind::broadcast, size}, "nhr"), 6 * 10e-6 + 14.0 / 8 * whole,
              1e-12);
  EXPECT_NEAR(time_of(one_node(8), {Kind::broadcast, size}, "mesh"), 2 * (10e-6 + whole / 8),
              1e-12);
}

TEST(CollectiveFormulas, NodesOfEight) {
  const ClusterSpec spec = cluster({.nodes = 4, .per_node = 8});
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, size}, "hierarchical"), 1.231191e-3, 5e-10);
  EXPECT_NEAR(time_of(spec, {Kind::all_gather, size}, "pipeline"), 0.425880e-3, 5e-10);
  EXPECT_NEAR(time_of(spec, {Kind::reduce_scatter, size}, "pipeline"), 0.425880e-3, 5e-10);
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, size}, "pipeline"), 2 * 0.425880e-3, 1e-9);
  // Without the pipeline every NIC carries 3/4 of the whole: gathered inside first.
  const double inside = 10e-6 + size.value() / 32 / 30e9;
  const double across = 2 * 20e-6 + 0.75 * size.value() / 22e9;
  EXPECT_NEAR(time_of(spec, {Kind::all_gather, size}, "hierarchical"), inside + across, 1e-12);
}

TEST(CollectiveFormulas, BuffersLoopOverLatencies) {
  ClusterSpec spec = flat(8);
  const double once = time_of(spec, {Kind::all_reduce, size}, "ring");
  spec.collectives.buffer = Bytes{20.0 * 1048576};
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, size}, "ring") - once, 3 * 14 * 10e-6, 1e-12);
}

TEST(CollectiveFormulas, PipelinesLoopOverTheirParts) {
  ClusterSpec spec = cluster({.nodes = 4, .per_node = 8});
  const double part = size.value() / 32;
  const auto loops = [&](Kind kind, double buffer) {
    spec.collectives.buffer = Bytes{1e18};
    const double once = time_of(spec, {kind, size}, "pipeline");
    spec.collectives.buffer = Bytes{buffer};
    // Three turns between nodes and one inside, twice for an all-reduce.
    const double latency = (kind == Kind::all_reduce ? 2 : 1) * (3 * 20e-6 + 10e-6);
    return 1 + (time_of(spec, {kind, size}, "pipeline") - once) / latency;
  };
  EXPECT_NEAR(loops(Kind::all_gather, part), 1, 1e-9);
  EXPECT_NEAR(loops(Kind::all_gather, part / 2), 2, 1e-9);
  EXPECT_NEAR(loops(Kind::all_reduce, part / 2), 2, 1e-9);
  EXPECT_NEAR(loops(Kind::reduce_scatter, 3 * part), 1, 1e-9);
  EXPECT_NEAR(loops(Kind::reduce_scatter, part), 3, 1e-9);
}

// A NIC carries what whole nodes get, n / S at a time, while n / p goes over each link inside; the
// last node's is handed on alone.
TEST(CollectiveFormulas, ExchangesOnBothLevelsAtOnce) {
  const ClusterSpec spec = cluster({.nodes = 4, .per_node = 8});
  const CollectiveCall call{Kind::all_to_all, size};
  const double across = 20e-6 + size.value() / 4 / 22e9, inside = 10e-6 + size.value() / 32 / 30e9;
  EXPECT_NEAR(time_of(spec, call, "pipeline"), 3 * across + inside, 1e-12);
  const double staged = 10e-6 + size.value() / 8 / 30e9 + 3 * across;
  EXPECT_NEAR(time_of(spec, call, "hierarchical"), staged, 1e-12);
  // Two devices of each of two nodes: the one link inside is the slower level.
  const ClusterSpec few = cluster({.nodes = 2, .per_node = 2, .nic = {BytesPerSecond{90e9}, {}}});
  const double half = 10e-6 + size.value() / 4 / 30e9;
  EXPECT_NEAR(time_of(few, call, "pipeline"), 2 * half, 1e-12);
  EXPECT_NEAR(time_of(few, call, "hierarchical"),
              10e-6 + size.value() / 2 / 30e9 + 20e-6 + size.value() / 2 / 90e9, 1e-12);
}

// One member gets twice the equal message and its neighbour none: a NIC then carries what its node
// gets, and the links to the full member twice the bytes.
TEST(CollectiveFormulas, UnequalExchangesOnBothLevels) {
  const ClusterSpec spec = cluster({.nodes = 2, .per_node = 2});
  CollectiveCall call{Kind::all_to_all, size};
  call.skew.factor = {1, 1, 1, 1};
  const double equal = time_of(spec, {Kind::all_to_all, size}, "pipeline");
  EXPECT_NEAR(time_of(spec, call, "pipeline"), equal, 1e-12);
  call.skew.factor = {2, 0, 1, 1};
  const double part = size.value() / 4;
  EXPECT_NEAR(time_of(spec, call, "pipeline"), 20e-6 + 2 * part / 22e9 + 10e-6 + 2 * part / 30e9,
              1e-12);
}

TEST(CollectiveFormulas, FullMeshesOverASwitchPostPeerAfterPeer) {
  const ClusterSpec spec = switched({.per_node = 8});
  const double bytes = size.value() * 7 / 8 / 30e9;
  EXPECT_NEAR(time_of(spec, {Kind::all_to_all, size}, "mesh"), 7 * 10e-6 + bytes, 1e-12);
  EXPECT_NEAR(time_of(spec, {Kind::all_gather, size}, "mesh"), 7 * 10e-6 + bytes, 1e-12);
}

TEST(CollectiveFormulas, SuperNodesAddNoPort) {
  ClusterSpec spec = switched({.nodes = 4, .per_node = 8});
  const CollectiveCall call{Kind::all_to_all, size};
  spec.super_node = SuperNodeSpec{.nodes = 4, .fabric = {{BytesPerSecond{30e9}, Seconds{0}}, 1}};
  const double port = 31 * 10e-6 + size.value() * 31 / 32 / 30e9;
  EXPECT_NEAR(time_of(spec, call, "mesh"), port, 1e-12);
  spec.super_node->fabric.port.bandwidth = BytesPerSecond{15e9};
  EXPECT_NEAR(time_of(spec, call, "mesh"), 31 * 10e-6 + size.value() * 24 / 32 / 15e9, 1e-12);
}

TEST(CollectiveFormulas, NcclUsesEveryNic) {
  ClusterSpec spec =
      switched({.nodes = 4, .per_node = 8, .inside = {BytesPerSecond{300e9}, Seconds{0}}});
  spec.collectives.library = CollectiveLibrarySpec::Library::nccl;
  // Seven steps of a node come before every link is busy; the others run beside the second slice.
  const double first = 2 * 7 * 10e-6, rest = 2 * (21 * 10e-6 + 3 * 20e-6);
  const double ring = std::max(2 * 31.0 / 32 * size.value() / 8 / 22e9,
                               2 * 31.0 / 32 * size.value() * 7 / 8 / 300e9);
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, size}, "ring"),
              first + std::max(ring, ring / 2 + rest), 1e-12);
  const Fabric fabric(spec);
  const auto group = first_devices(32);
  EXPECT_EQ(plan_collective(fabric, group, {Kind::all_reduce, Bytes{1024}}, "auto").algorithm,
            "tree");
  EXPECT_EQ(plan_collective(fabric, group, {Kind::all_gather, size}, "auto").algorithm, "ring");
}

TEST(CollectiveFormulas, Trees) {
  const auto expected = [](double steps, double buffers) {
    return steps * 10e-6 + buffers * size.value() / 50e9;
  };
  // Two members exchange halves both ways on each of two trees; of three, the inner one of a tree
  // has two neighbours there and one in the other.
  EXPECT_NEAR(time_of(flat(2), {Kind::all_reduce, size}, "tree"), expected(2, 1), 1e-12);
  EXPECT_NEAR(time_of(flat(3), {Kind::all_reduce, size}, "tree"), expected(4, 1.5), 1e-12);
  // From four on some inner node has three, and is a leaf of the other tree.
  for (std::int64_t ranks = 4; ranks <= 65; ++ranks)
    EXPECT_NEAR(time_of(flat(ranks), {Kind::all_reduce, size}, "tree"),
                expected(2 * std::ceil(std::log2(ranks)), 2), 1e-12)
        << ranks;
}

TEST(CollectiveFormulas, TreesOverEveryNic) {
  const auto spec = [](double port) {
    return switched({.nodes = 6, .per_node = 8, .inside = {BytesPerSecond{port}, Seconds{0}}});
  };
  const double latency = 2 * (7 * 10e-6 + 3 * 20e-6);
  EXPECT_NEAR(time_of(spec(300e9), {Kind::all_reduce, size}, "tree"),
              latency + 2 * size.value() / 8 / 22e9, 1e-12);
  EXPECT_NEAR(time_of(spec(30e9), {Kind::all_reduce, size}, "tree"),
              latency + 2 * size.value() * 7 / 8 / 30e9, 1e-12);
}

TEST(Collectives, NothingToDo) {
  const Fabric fabric(flat(4));
  EXPECT_TRUE(
      plan_collective(fabric, first_devices(1), {Kind::all_reduce, size}, "ring").phases.empty());
  EXPECT_TRUE(plan_collective(fabric, first_devices(4), {Kind::all_reduce, Bytes{0}}, "auto")
                  .phases.empty());
}

TEST(Collectives, RefusesWhatDoesNotFit) {
  const Fabric fabric(flat(4));
  try {
    plan_collective(fabric, first_devices(4), {Kind::all_reduce, size}, "mesh");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("allowed: auto, ring, nhr, nb, hd, tree"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stepcast
