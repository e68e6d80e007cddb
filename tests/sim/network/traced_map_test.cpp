#include <gtest/gtest.h>

#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {
namespace {

using namespace literals;

constexpr double launch = 3e-6;

/// A mesh of four devices without latencies beside the launch of a communication.
ClusterSpec mesh() {
  ClusterSpec c;
  c.devices = c.node_devices = 4;
  c.node_fabric = MeshFabric{{50_GBps, Seconds{0}}, 1};
  c.network.nic.link = {25_GBps, Seconds{0}};
  c.device.launch.communication = Seconds{launch};
  return c;
}

StageCall gather(Bytes bytes, Stream stream) {
  return {"gather", GroupKind::world,  {CollectiveKind::all_gather, bytes},
          stream,   ExposedKind::data, {}};
}

using Groups = std::vector<std::vector<Rank>>;

/// Ranks that call groups of a trace, one after the other.
struct Trace {
  explicit Trace(Groups groups) {
    traced.groups = std::move(groups);
    traced.of_call.resize(4);
    traced.occurrence.resize(4);
  }
  /// All members of a group make a call.
  void call(std::uint32_t group, std::uint32_t occurrence, const StageCall& call) {
    for (const Rank member : traced.groups[group]) {
      programs[member.value].calls.push_back(call);
      traced.of_call[member.value].push_back(group);
      traced.occurrence[member.value].push_back(occurrence);
    }
  }
  NetworkMap map(const ClusterSpec& cluster = mesh()) const {
    ParallelPlan plan;
    plan.dp = 4;
    const Placement placement(plan);
    const Fabric fabric(cluster);
    const CollectiveChoice ring{{"ring", "ring", "ring", "pairwise", "ring"}};
    return traced_network_map({placement, fabric, programs, ring}, traced);
  }
  const NetworkCall& of(const NetworkMap& map, std::uint32_t rank, std::size_t call) const {
    return map.calls[map.call_of[rank][call]];
  }

  TaskGraph::Traced traced;
  std::vector<StageProgram> programs{4};
};

// Half of the bytes over the one link between two ranks.
TEST(TracedMap, MembersComeToTheSameCallOfTheirGroup) {
  Trace trace(Groups{{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}});
  for (const std::uint32_t nth : {0U, 1U})
    for (const std::uint32_t group : {0U, 1U}) trace.call(group, nth, gather(8_MiB, Stream::data));
  const NetworkMap map = trace.map();
  EXPECT_EQ(map.calls.size(), 4U);
  EXPECT_EQ(map.call_of[0], map.call_of[1]);
  EXPECT_EQ(map.call_of[2], map.call_of[3]);
  EXPECT_NE(trace.of(map, 0, 0).group, trace.of(map, 0, 1).group);
  EXPECT_NE(trace.of(map, 0, 0).group, trace.of(map, 2, 0).group);
  for (std::uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(map.classes.representative[r], Rank{r});
    EXPECT_EQ(map.classes.ranks[r], 1);
    EXPECT_EQ(map.classes.class_of[r], r);
    for (const std::size_t c : {0U, 1U}) {
      const NetworkCall& call = trace.of(map, r, c);
      EXPECT_TRUE(call.once);
      EXPECT_TRUE(call.lone);
      EXPECT_EQ(call.arrivals, 2U);
      EXPECT_NEAR(call.alone, (4_MiB / 50_GBps).value() + launch, 1e-12);
      EXPECT_EQ(call.one_group, call.alone);
    }
  }
}

// A ring over the mesh: 3/4 of the bytes, in three phases.
TEST(TracedMap, PhasesOfACallAddUp) {
  Trace trace(Groups{{Rank{0}, Rank{1}, Rank{2}, Rank{3}}});
  trace.call(0, 0, gather(8_MiB, Stream::data));
  const NetworkMap map = trace.map();
  ASSERT_EQ(map.calls.size(), 1U);
  EXPECT_EQ(map.calls[0].arrivals, 4U);
  EXPECT_NEAR(map.calls[0].alone, (6_MiB / 50_GBps).value() + launch, 1e-9);
}

// A stream orders what a device sends; two streams may use its link at once.
TEST(TracedMap, OnlyCallsOfTwoStreamsMeet) {
  for (const Stream other : {Stream::data, Stream::tensor}) {
    Trace trace(Groups{{Rank{0}, Rank{1}}});
    trace.call(0, 0, gather(8_MiB, Stream::data));
    trace.call(0, 1, gather(2_MiB, other));
    const NetworkMap map = trace.map();
    const bool meet = other != Stream::data;
    EXPECT_EQ(trace.of(map, 0, 0).lone, !meet);
    EXPECT_EQ(trace.of(map, 0, 1).lone, !meet);
    EXPECT_EQ(map.bandwidths.empty(), !meet);
    EXPECT_NEAR(trace.of(map, 0, 0).alone, (4_MiB / 50_GBps).value() + launch, 1e-12);
  }
}

// Half of the bytes leave by the NIC, and by a root port that is slower than it.
TEST(TracedMap, NicsBelowARootPortShareIt) {
  ClusterSpec cluster = mesh();
  cluster.node_devices = 1;
  cluster.network.leaf_ports = 4;
  cluster.host.device_link_bandwidth = 32_GBps;
  Trace trace(Groups{{Rank{0}, Rank{1}}});
  trace.call(0, 0, gather(8_MiB, Stream::data));
  const auto time = [&](PcieTree::Nic nic) {
    cluster.host.pcie = {1, 10_GBps, nic};
    return trace.of(trace.map(cluster), 0, 0).alone;
  };
  EXPECT_NEAR(time(PcieTree::Nic::device), (4_MiB / 25_GBps).value() + launch, 1e-12);
  EXPECT_NEAR(time(PcieTree::Nic::root), (4_MiB / 10_GBps).value() + launch, 1e-12);
}

// What crosses a failed pair goes over two links beside it, at the same pace.
TEST(TracedMap, WhatStandsInForAFailedLinkIsShared) {
  const ClusterSpec cluster = mesh();
  const Fabric intact(cluster);
  const LinkId failed = intact.mesh_link(DeviceId{0}, DeviceId{1});
  LinkFaults faults;
  faults.detour[failed.value] = detour_around(intact, failed, {failed.value});
  const Fabric fabric(cluster, faults);
  Trace trace(Groups{{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}});
  for (const std::uint32_t group : {0U, 1U}) trace.call(group, 0, gather(8_MiB, Stream::data));
  ParallelPlan plan;
  plan.dp = 4;
  const Placement placement(plan);
  const CollectiveChoice ring{{"ring", "ring", "ring", "pairwise", "ring"}};
  const NetworkMap map =
      traced_network_map({placement, fabric, trace.programs, ring}, trace.traced);
  EXPECT_NEAR(trace.of(map, 0, 0).alone, (4_MiB / 50_GBps).value() + launch, 1e-12);
  EXPECT_NEAR(trace.of(map, 2, 0).alone, (4_MiB / 50_GBps).value() + launch, 1e-12);
}

}  // namespace
}  // namespace stepcast
