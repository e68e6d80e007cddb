#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "collective_fabrics.hpp"

/// Rings of NCCL, whose chunks follow each other: docs/models/collectives.md, "NCCL".
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;
constexpr auto nccl = CollectiveLibrarySpec::Library::nccl;

/// Nodes with 300 GB/s ports and NICs of 20 GB/s.
ClusterSpec nodes_of(std::int64_t per_node, std::int64_t nodes) {
  ClusterSpec spec = switched({.nodes = nodes,
                               .per_node = per_node,
                               .inside = {BytesPerSecond{300e9}, Seconds{0}},
                               .nic = {BytesPerSecond{20e9}, Seconds{0}},
                               .node_step = Seconds{2e-6},
                               .step = Seconds{10e-6}});
  spec.collectives.library = nccl;
  return spec;
}

ClusterSpec nodes_of_eight(std::int64_t nodes) { return nodes_of(8, nodes); }

double ring(const ClusterSpec& spec, Kind kind, double bytes) {
  return time_of(spec, {kind, Bytes{bytes}}, "ring");
}

TEST(NcclRings, OfOneNodePayEveryLatencyOnce) {
  ClusterSpec spec = nodes_of_eight(1);
  spec.collectives.ring_start = Seconds{50e-6};
  const double n = 64e6;
  EXPECT_NEAR(ring(spec, Kind::all_gather, n), 50e-6 + 7 * 2e-6 + 7.0 / 8 * n / 300e9, 1e-12);
  EXPECT_NEAR(ring(spec, Kind::all_reduce, n), 50e-6 + 14 * 2e-6 + 14.0 / 8 * n / 300e9, 1e-12);
  EXPECT_NEAR(ring(spec, Kind::broadcast, n), 50e-6 + 7 * 2e-6 + n / 300e9, 1e-12);
  // HCCL pays them in every loop, NCCL in none.
  spec.collectives.buffer = Bytes{1e6};
  EXPECT_NEAR(ring(spec, Kind::all_gather, n), 50e-6 + 7 * 2e-6 + 7.0 / 8 * n / 300e9, 1e-12);
}

TEST(NcclRings, HideTheRestOfTheLatenciesBehindTheSecondSlice) {
  const ClusterSpec spec = nodes_of_eight(64);
  const double first = 7 * 2e-6, rest = 63 * 7 * 2e-6 + 63 * 10e-6;
  const auto bytes = [](double n) { return 511.0 / 512 * n / 8 / 20e9; };
  EXPECT_NEAR(ring(spec, Kind::all_gather, 100e6), first + bytes(100e6) / 2 + rest, 1e-12);
  EXPECT_NEAR(ring(spec, Kind::all_gather, 4e9), first + bytes(4e9), 1e-12);
}

TEST(NcclRings, OfABroadcastHideNoLatency) {
  const ClusterSpec spec = nodes_of_eight(64);
  const double path = 64 * 7 * 2e-6 + 63 * 10e-6;
  for (const double n : {1e6, 100e6, 4e9})
    EXPECT_NEAR(ring(spec, Kind::broadcast, n), path + n / 8 / 20e9, 1e-12);
}

TEST(NcclRings, OfABroadcastStoreAChunkBeforeEachNic) {
  ClusterSpec spec = nodes_of_eight(64);
  spec.collectives.cores.network = 2;  // two channels of 10 GB/s for each NIC
  const double path = 64 * 7 * 2e-6 + 63 * 10e-6;
  EXPECT_NEAR(ring(spec, Kind::broadcast, 100e6), path + 100e6 / 8 / 20e9 + 63 * 524288 / 10e9,
              1e-12);
  // What is less than a chunk for each channel is stored as a whole.
  EXPECT_NEAR(ring(spec, Kind::broadcast, 1e6), path + 64 * 1e6 / 8 / 20e9, 1e-12);
  // Inside a node no NIC is entered.
  ClusterSpec node = nodes_of_eight(1);
  node.collectives.cores.network = 2;
  EXPECT_NEAR(ring(node, Kind::broadcast, 64e6), 7 * 2e-6 + 64e6 / 300e9, 1e-12);
  // Lines of LL128 are passed on as they come, but a NIC is given whole chunks.
  spec.collectives.ll128 = RingProtocolSpec{.start = Seconds{0},
                                            .step_latency = Seconds{4e-6},
                                            .node_step_latency = Seconds{1e-6},
                                            .bandwidth = 0.9,
                                            .node_bandwidth = 1};
  EXPECT_NEAR(ring(spec, Kind::broadcast, 100e6),
              64 * 7 * 1e-6 + 63 * 4e-6 + (100e6 / 8 + 63 * 576000 * 2) / 18e9, 1e-12);
}

TEST(NcclRings, Ll128PassesChunksOnByLine) {
  ClusterSpec spec = nodes_of_eight(64);
  spec.collectives.ll128 = RingProtocolSpec{.start = Seconds{14e-6},
                                            .step_latency = Seconds{4e-6},
                                            .node_step_latency = Seconds{1e-6},
                                            .bandwidth = 0.9,
                                            .node_bandwidth = 0.7};
  const double first = 14e-6 + 7 * 1e-6, rest = 63 * 7 * 1e-6 + 63 * 4e-6;
  const auto bytes = [](double n) { return 511.0 / 512 * n / 8 / 20e9; };
  EXPECT_NEAR(ring(spec, Kind::all_gather, 20e6), first + rest, 1e-12);
  EXPECT_NEAR(ring(spec, Kind::all_gather, 150e6), first + bytes(150e6) / 0.9, 1e-12);
  // Simple again where a tenth of the bytes outweighs its latencies.
  EXPECT_NEAR(ring(spec, Kind::all_gather, 40e9), 7 * 2e-6 + bytes(40e9), 1e-12);
}

TEST(NcclRings, LoseAPartOfTheNicsAtEachDoublingBeyondFourNodes) {
  const double n = 40e9;
  const auto times = [&](std::int64_t nodes, Kind kind) {
    ClusterSpec spec = nodes_of_eight(nodes);
    const double even = ring(spec, kind, n);
    spec.collectives.ring_loss = 0.1;
    return std::pair{ring(spec, kind, n), even};
  };
  for (const std::int64_t nodes : {2, 4, 8, 32, 48}) {
    const double ranks = 8.0 * static_cast<double>(nodes);
    const double bytes = (ranks - 1) / ranks * n / 8 / 20e9;
    const double part = std::pow(0.9, std::max(0.0, std::log2(static_cast<double>(nodes) / 4)));
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter})
      EXPECT_NEAR(times(nodes, kind).first, 7 * 2e-6 + bytes / part, 1e-9) << nodes;
    // Trees serve an all-reduce over many nodes, and nobody measured a broadcast.
    for (const Kind kind : {Kind::all_reduce, Kind::broadcast}) {
      const auto [lossy, even] = times(nodes, kind);
      EXPECT_EQ(lossy, even);
    }
  }
}

TEST(NcclRings, WithOneMemberOfEachNodeAreShort) {
  const double n = 40e9;
  for (const std::int64_t nodes : {8, 32, 128}) {
    ClusterSpec spec = nodes_of(1, nodes);
    const double even = ring(spec, Kind::all_gather, n);
    spec.collectives.ring_loss = 0.1;
    const double part = nodes > 32 ? 0.81 : 1;  // two doublings of 32 members
    EXPECT_NEAR(ring(spec, Kind::all_gather, n), even / part, 1e-9) << nodes;
  }
}

TEST(NcclRings, OfTwoReduceAtAPartOfTheLink) {
  ClusterSpec spec = nodes_of_eight(1);
  spec.devices = spec.node_devices = 2;
  spec.collectives.pair_bandwidth = 0.8;
  EXPECT_NEAR(ring(spec, Kind::all_reduce, 30e6), 2 * 2e-6 + 30e6 / 240e9, 1e-12);
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, Bytes{30e6}}, "auto"),
              ring(spec, Kind::all_reduce, 30e6), 1e-15);
  EXPECT_NEAR(ring(spec, Kind::all_gather, 30e6), 2e-6 + 15e6 / 300e9, 1e-12);
}

// Its own reckoning gives trees 0.92 / 2 of the bus and rings p / (2 (p - 1)), over two nodes too.
TEST(NcclSelection, SendsLargeBuffersRoundARing) {
  for (const std::int64_t count : {2, 3, 4, 16}) {
    const Fabric fabric(nodes_of_eight(count));
    const auto chosen = [&](double bytes) {
      return plan_collective(fabric, first_devices(8 * count), {Kind::all_reduce, Bytes{bytes}},
                             "auto")
          .algorithm;
    };
    EXPECT_EQ(chosen(4e9), "ring") << count;
    EXPECT_EQ(chosen(1e4), "tree") << count;
  }
}

TEST(NcclRings, AreContinuousInTheBytes) {
  EXPECT_TRUE(rc::check([] {
    ClusterSpec spec = nodes_of_eight(*rc::gen::inRange(1, 9));
    spec.collectives.ring_start = Seconds{100e-6};
    spec.collectives.ll128 = RingProtocolSpec{.start = Seconds{20e-6},
                                              .step_latency = Seconds{4e-6},
                                              .node_step_latency = Seconds{1e-6},
                                              .bandwidth = 0.9,
                                              .node_bandwidth = 0.6};
    const double bytes = *rc::gen::inRange(1000, 1 << 30);
    const auto kind = static_cast<Kind>(*rc::gen::inRange(0, 3));
    const double time = ring(spec, kind, bytes), more = ring(spec, kind, bytes * 1.001);
    RC_ASSERT(more >= time);
    RC_ASSERT(more <= time * 1.0011);
  }));
}

/// 1536 A100 in nodes of eight: the case that loops over a buffer made 24 times its bound.
TEST(NcclRings, OfManyNodesStayNearTheirBound) {
  ClusterSpec spec = nodes_of_eight(192);
  const Fabric fabric(spec);
  const auto members = first_devices(spec.devices);
  const CollectiveCall call{Kind::all_gather, Bytes{3.6e9}};
  const double bound = bandwidth_bound(fabric, members, call).value();
  EXPECT_GT(ring(spec, Kind::all_gather, 3.6e9), bound);
  EXPECT_LT(ring(spec, Kind::all_gather, 3.6e9), 1.2 * bound);
}

TEST(Transfers, ReachAPartOfTheLinkBeyondTheCache) {
  ClusterSpec spec = nodes_of_eight(2);
  spec.collectives.transfer = {.start = {}, .cache = Bytes{30e6}, .bandwidth = 0.8};
  const Fabric fabric(spec);
  const auto time = [&](double bytes, std::int64_t stride) {
    const CollectiveCall call{Kind::send_recv, Bytes{bytes}};
    return lone_time(fabric, plan_collective(fabric, first_devices(2, stride), call, "auto"))
        .value();
  };
  EXPECT_NEAR(time(30e6, 1), 2e-6 + 30e6 / 300e9, 1e-12);
  EXPECT_NEAR(time(35e6, 1), 2e-6 + 35e6 / 300e9 * (1 + 0.25 / 2), 1e-12);
  EXPECT_NEAR(time(60e6, 1), 2e-6 + 60e6 / 240e9, 1e-12);
  EXPECT_NEAR(time(60e6, 8), 10e-6 + 60e6 / 20e9, 1e-12);
}

TEST(Transfers, TakeTheirRouteAndTheLibrarysStart) {
  ClusterSpec spec = nodes_of_eight(2);
  spec.collectives.transfer.start = Seconds{7e-6};
  const Fabric fabric(spec);
  const auto time = [&](std::int64_t stride) {
    const auto plan =
        plan_collective(fabric, first_devices(2, stride), {Kind::send_recv, Bytes{60e6}}, "auto");
    EXPECT_EQ(plan.algorithm, "direct");
    return lone_time(fabric, plan).value();
  };
  EXPECT_NEAR(time(1), 7e-6 + 2e-6 + 60e6 / 300e9, 1e-12);
  EXPECT_NEAR(time(8), 7e-6 + 10e-6 + 60e6 / 20e9, 1e-12);
  EXPECT_DOUBLE_EQ(transfer_latency(fabric, {0}, {1}, Bytes{60e6}).value(), 9e-6);
  EXPECT_DOUBLE_EQ(transfer_latency(fabric, {0}, {8}, Bytes{60e6}).value(), 17e-6);
  spec.collectives.transfer.step_latency = Seconds{4e-6};  // where given, inside a node alone
  spec.collectives.transfer.step_latency_given = true;
  const Fabric own(spec);
  const double others = spec.collectives.node_step_latency.value();
  EXPECT_DOUBLE_EQ(transfer_latency(own, {0}, {1}, Bytes{60e6}).value(), 9e-6 - others + 4e-6);
  EXPECT_DOUBLE_EQ(transfer_latency(own, {0}, {8}, Bytes{60e6}).value(), 17e-6);
  EXPECT_FALSE(collective_algorithms().back().plan(
      fabric, first_devices(3), {Kind::send_recv, Bytes{1}}, NetworkForm::ports));
}

}  // namespace
}  // namespace stepcast
