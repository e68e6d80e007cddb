#include <gtest/gtest.h>

#include "stepcast/topology/fabric.hpp"

/// Clusters of several kinds of nodes: every block of links is as fast as the fastest kind, and the
/// links of the others keep their part. docs/models/heterogeneous.md.
namespace stepcast {
namespace {

constexpr double pair = 8e9 * 0.9, slow_pair = 10e9 * 0.5;   // usable, of the second and first kind
constexpr double card = 20e9 * 0.9, slow_card = 25e9 * 0.5;  // of the first and second kind
constexpr double plane = 40e9 * 1.0, slow_plane = 60e9 * 0.5;

NodeKind kind(std::int64_t nodes, LinkSpec link, double link_part, LinkSpec nic, double nic_part) {
  NodeKind result;
  result.nodes = nodes;
  result.node_devices = 4;
  result.node_fabric = MeshFabric{link, link_part};
  result.nic.link = nic;
  result.nic.efficiency = nic_part;
  return result;
}

/// Two nodes of four devices with slow pairs, then four with slow cards.
ClusterSpec mixed() {
  ClusterSpec spec;
  spec.node_devices = 4;
  spec.devices = 24;
  spec.network.kind = NetworkSpec::Kind::single_switch;
  const auto link = [](double bandwidth, double latency) {
    return LinkSpec{BytesPerSecond{bandwidth}, Seconds{latency}};
  };
  spec.kinds = {kind(2, link(10e9, 3e-6), 0.5, link(20e9, 1e-6), 0.9),
                kind(4, link(8e9, 1e-6), 0.9, link(25e9, 5e-6), 0.5)};
  return spec;
}

TEST(NodeKinds, AreFoundByDevice) {
  const ClusterSpec spec = mixed();
  EXPECT_EQ(spec.kind_of(0), 0U);
  EXPECT_EQ(spec.kind_of(7), 0U);
  EXPECT_EQ(spec.kind_of(8), 1U);
  EXPECT_EQ(spec.kind_of(23), 1U);
}

TEST(NodeKinds, TheFastestLinksOfAnyKindAndTheLongestLatencyAreTheClusters) {
  ClusterSpec spec = mixed();
  take_fastest_links(spec);
  const auto& mesh = std::get<MeshFabric>(spec.node_fabric);
  EXPECT_EQ(mesh.link.bandwidth.value() * mesh.efficiency, pair);
  EXPECT_EQ(mesh.link.latency.value(), 3e-6);
  EXPECT_EQ(spec.network.nic.link.bandwidth.value() * spec.network.nic.efficiency, card);
  EXPECT_EQ(spec.network.nic.link.latency.value(), 5e-6);
}

TEST(NodeKinds, SlowerLinksKeepTheirPart) {
  ClusterSpec spec = mixed();
  take_fastest_links(spec);
  const Fabric fabric(spec);
  std::map<std::uint32_t, double> expected;
  for (std::uint32_t from = 0; from < 24; ++from) {
    for (std::uint32_t to = from / 4 * 4; to < from / 4 * 4 + 4; ++to)
      if (from < 8 && to != from) expected[fabric.mesh_link({from}, {to}).value] = slow_pair / pair;
    for (const LinkKind nic : {LinkKind::nic_up, LinkKind::nic_down})
      if (from >= 8) expected[fabric.device_link(nic, {from}).value] = slow_card / card;
  }
  EXPECT_EQ(links_of_kinds(fabric).bandwidth_factor, expected);
}

TEST(NodeKinds, PlanesOfSuperNodesAndPortsOfSwitchesToo) {
  ClusterSpec spec = mixed();
  const auto super = [](double bandwidth, double part, double latency) {
    return SuperNodeSpec{2, {{BytesPerSecond{bandwidth}, Seconds{latency}}, part}};
  };
  spec.super_node = super(1e9, 1, 0);
  spec.kinds[0].super_node = super(40e9, 1, 2e-6);
  spec.kinds[1].super_node = super(60e9, 0.5, 7e-6);
  for (NodeKind& kind : spec.kinds) kind.nic = spec.kinds[0].nic;
  spec.kinds[0].node_fabric = SwitchFabric{{BytesPerSecond{100e9}, Seconds{0}}, 1};
  spec.kinds[1].node_fabric = SwitchFabric{{BytesPerSecond{150e9}, Seconds{0}}, 0.8};
  take_fastest_links(spec);
  EXPECT_EQ(spec.super_node->fabric.port.bandwidth.value() * spec.super_node->fabric.efficiency,
            plane);
  EXPECT_EQ(spec.super_node->fabric.port.latency.value(), 7e-6);
  const Fabric fabric(spec);
  std::map<std::uint32_t, double> expected;
  for (std::uint32_t device = 0; device < 24; ++device) {
    const bool first = device < 8;
    for (const LinkKind port : {LinkKind::port_up, LinkKind::port_down})
      if (first) expected[fabric.device_link(port, {device}).value] = 100e9 / 120e9;
    for (const LinkKind up : {LinkKind::super_up, LinkKind::super_down})
      if (!first) expected[fabric.device_link(up, {device}).value] = slow_plane / plane;
  }
  EXPECT_EQ(links_of_kinds(fabric).bandwidth_factor, expected);
}

TEST(NodeKinds, OneKindAloneIsNone) {
  const ClusterSpec spec = [] {
    ClusterSpec one = mixed();
    one.kinds.clear();
    return one;
  }();
  EXPECT_TRUE(links_of_kinds(Fabric(spec)).bandwidth_factor.empty());
  EXPECT_EQ(spec.kind_of(5), 0U);
}

TEST(HostLink, IsTheDevicesOwnOrItsPartOfTheSharedOne) {
  HostSpec host;
  host.device_link_bandwidth = BytesPerSecond{32e9};
  EXPECT_EQ(host.offload_bandwidth().value(), 32e9);
  host.shared_devices = 4;
  host.shared_bandwidth = BytesPerSecond{64e9};
  EXPECT_EQ(host.offload_bandwidth().value(), 16e9);
  host.shared_bandwidth = BytesPerSecond{256e9};
  EXPECT_EQ(host.offload_bandwidth().value(), 32e9);
}

}  // namespace
}  // namespace stepcast
