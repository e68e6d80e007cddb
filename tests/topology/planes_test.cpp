#include "stepcast/topology/planes.hpp"

#include <gtest/gtest.h>

/// Ports that are bundles over switches side by side: docs/models/fabric.md.
namespace stepcast {
namespace {

ClusterSpec seven_planes() {
  ClusterSpec spec;
  spec.devices = 8;
  spec.node_devices = 2;
  const SwitchFabric ports{{BytesPerSecond{196e9}, Seconds{0}}, 0.5, 7};
  spec.node_fabric = ports;
  spec.super_node = SuperNodeSpec{2, ports};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{0}};
  return spec;
}

TEST(Planes, HaveNames) {
  EXPECT_EQ(plane_name("plane:3")->number, 3U);
  EXPECT_EQ(plane_name("plane:3")->set, PlaneSet::ports);
  EXPECT_EQ(plane_name("nic_plane:1")->set, PlaneSet::nics);
  for (const char* wrong : {"plane:", "plane:x", "plane:1.up", "port:1", "planes:1", ""})
    EXPECT_FALSE(plane_name(wrong)) << wrong;
  EXPECT_EQ(plane_names(seven_planes()), "plane:0 to plane:6");
  EXPECT_EQ(plane_names(ClusterSpec{}), "");
}

TEST(Planes, AreCountedByKindOfLink) {
  const ClusterSpec spec = seven_planes();
  EXPECT_EQ(planes_of(spec, LinkKind::port_up), 7);
  EXPECT_EQ(planes_of(spec, LinkKind::super_down), 7);
  EXPECT_EQ(planes_of(spec, LinkKind::nic_up), 1);
  EXPECT_EQ(planes_of(spec, LinkKind::leaf_up), 1);
  ClusterSpec flying;
  flying.network.dragonfly.global_links = 4;
  EXPECT_EQ(planes_of(flying, LinkKind::global), 4);
  EXPECT_EQ(planes_of(flying, LinkKind::local), 1);
}

/// A failed plane costs its share of every port, and nothing of NICs.
TEST(Planes, CostTheirShare) {
  const Fabric intact(seven_planes());
  LinkFaults faults;
  faults.bandwidth_factor[intact.device_link(LinkKind::port_up, {1}).value] = 0.5;
  lose_planes(intact, PlaneSet::ports, 2, faults);
  const Fabric fabric(seven_planes(), faults);
  const auto left = [&](LinkKind kind, std::uint32_t device) {
    return fabric.link(fabric.device_link(kind, {device})).bandwidth.value();
  };
  EXPECT_DOUBLE_EQ(left(LinkKind::port_up, 0), 98e9 * 5 / 7);
  EXPECT_DOUBLE_EQ(left(LinkKind::super_down, 7), 98e9 * 5 / 7);
  EXPECT_DOUBLE_EQ(left(LinkKind::port_up, 1), 98e9 * 5 / 7 / 2);
  EXPECT_DOUBLE_EQ(left(LinkKind::nic_up, 0), 25e9);
}

}  // namespace
}  // namespace stepcast
