#include <gtest/gtest.h>

#include "fabrics.hpp"
#include "stepcast/topology/fabric_graph.hpp"

namespace stepcast {
namespace {

/// Four nodes of four devices, rails below leaves of two ports.
ClusterSpec rails() {
  ClusterSpec spec;
  spec.devices = 16;
  spec.node_devices = 4;
  spec.node_fabric = MeshFabric{{BytesPerSecond{28e9}, Seconds{1e-6}}, 1};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{2e-6}};
  spec.network.kind = NetworkSpec::Kind::rail_optimized;
  spec.network.leaf_ports = 2;
  return spec;
}

std::string names(const Fabric& fabric, const std::vector<LinkId>& links) {
  std::string text;
  for (const LinkId link : links) text += (text.empty() ? "" : " ") + fabric.link_name(link);
  return text;
}

TEST(FindLinks, MeansBothDirectionsUnlessOneIsGiven) {
  const Fabric fabric(rails());
  const auto found = [&](const char* name) { return names(fabric, find_links(fabric, name)); };
  EXPECT_EQ(found("nic:5"), "nic:5.up nic:5.down");
  EXPECT_EQ(found("nic:5.down"), "nic:5.down");
  EXPECT_EQ(found("hccs:5-6"), "hccs:5-6 hccs:6-5");
  EXPECT_EQ(found("leaf:2"), "leaf:2.up leaf:2.down");
  for (const char* unknown : {"", "nic", "nic:", "nic:16", "nic:5.", "nic:5.left", "hccs:3-4",
                              "hccs:5-5", "hccs:5", "hccs:5-6.up", "port:1", "leaf:8", "nic:-1"})
    EXPECT_EQ(found(unknown), "") << unknown;
  EXPECT_EQ(link_names(fabric), "hccs:0-1 to hccs:15-14, nic:0 to nic:15, leaf:0 to leaf:7");
}

TEST(FindLinks, FindsWhatEveryLinkIsCalled) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    for (std::uint32_t id = 0; id < fabric.link_count(); ++id) {
      const std::string name = fabric.link_name({id});
      const auto one = find_links(fabric, name);
      RC_ASSERT(one.front() == LinkId{id});
      RC_ASSERT(one.size() ==
                (info(fabric.link({id}).kind).direction == LinkDirection::across ? 2U : 1U));
      const auto both = find_links(fabric, name.substr(0, name.find('.')));
      RC_ASSERT(both.size() == 2U);
      RC_ASSERT(both[0] == LinkId{id} || both[1] == LinkId{id});
    }
  }));
}

std::string around(const Fabric& fabric, const char* link, std::vector<const char*> others = {}) {
  std::set<std::uint32_t> failed;
  others.push_back(link);
  for (const char* name : others)
    for (const LinkId id : find_links(fabric, name)) failed.insert(id.value);
  return names(fabric, detour_around(fabric, find_links(fabric, link).front(), failed));
}

TEST(Detour, OfAPairGoesOverTheLowestDeviceThatWorks) {
  const Fabric fabric(rails());
  EXPECT_EQ(around(fabric, "hccs:4-5"), "hccs:4-6 hccs:6-5");
  EXPECT_EQ(around(fabric, "hccs:6-7"), "hccs:6-4 hccs:4-7");
  EXPECT_EQ(around(fabric, "hccs:7-6"), "hccs:7-4 hccs:4-6");
  EXPECT_EQ(around(fabric, "hccs:6-7", {"hccs:4-6"}), "hccs:6-5 hccs:5-7");
  EXPECT_EQ(around(fabric, "hccs:6-7", {"hccs:4-6", "hccs:5-7"}), "");
}

TEST(Detour, OfANicGoesOverTheNextDeviceOfTheNode) {
  const Fabric fabric(rails());
  EXPECT_EQ(around(fabric, "nic:5.up"), "hccs:5-6 nic:6.up");
  EXPECT_EQ(around(fabric, "nic:7.up"), "hccs:7-4 nic:4.up");
  EXPECT_EQ(around(fabric, "nic:5.down"), "nic:6.down hccs:6-5");
  EXPECT_EQ(around(fabric, "nic:5.up", {"nic:6"}), "hccs:5-7 nic:7.up");
  EXPECT_EQ(around(fabric, "nic:5.up", {"nic:6.down"}), "hccs:5-6 nic:6.up");
  EXPECT_EQ(around(fabric, "nic:5.up", {"hccs:5-6"}), "hccs:5-7 nic:7.up");
  EXPECT_EQ(around(fabric, "nic:5.up", {"nic:4", "nic:6", "nic:7"}), "");
}

TEST(Detour, OfANicFollowsTheFabricOfItsNode) {
  ClusterSpec spec = rails();
  spec.node_fabric = SwitchFabric{{BytesPerSecond{196e9}, Seconds{1e-6}}, 1};
  const Fabric ports(spec);
  EXPECT_EQ(around(ports, "nic:5.up"), "port:5.up port:6.down nic:6.up");
  EXPECT_EQ(around(ports, "port:5.up"), "");
  spec.node_fabric =
      GroupFabric{2, {BytesPerSecond{28e9}, Seconds{0}}, {BytesPerSecond{16e9}, {}}, 1};
  const Fabric groups(spec);
  EXPECT_EQ(around(groups, "nic:5.up"), "bridge:5.up bridge:6.down nic:6.up");
  EXPECT_EQ(around(groups, "nic:4.up"), "hccs:4-5 nic:5.up");
  EXPECT_EQ(around(groups, "hccs:4-5"), "");  // a mesh of two has no third device
  spec.network.nic.per = NicSpec::Per::node;
  EXPECT_EQ(around(Fabric(spec), "nic:1"), "");
  spec = rails();
  spec.node_devices = 1;
  EXPECT_EQ(around(Fabric(spec), "nic:1"), "");
}

LinkFaults failing(const Fabric& fabric, const std::vector<const char*>& links) {
  LinkFaults faults;
  std::set<std::uint32_t> failed;
  for (const char* name : links)
    for (const LinkId id : find_links(fabric, name)) failed.insert(id.value);
  for (const std::uint32_t id : failed) faults.detour[id] = detour_around(fabric, {id}, failed);
  return faults;
}

TEST(FabricFaults, RoutesGoAroundFailedLinks) {
  const Fabric intact(rails());
  const Fabric fabric(rails(), failing(intact, {"nic:5", "hccs:0-1"}));
  const auto route = [&](std::uint32_t a, std::uint32_t b) {
    return names(fabric, fabric.route({a}, {b}));
  };
  EXPECT_EQ(route(0, 1), "hccs:0-2 hccs:2-1");
  EXPECT_EQ(route(0, 2), "hccs:0-2");
  EXPECT_EQ(route(5, 1), "hccs:5-6 nic:6.up nic:1.down");
  // The leaf stays that of the failed NIC.
  EXPECT_EQ(route(9, 5), "nic:9.up leaf:3.up leaf:2.down nic:6.down hccs:6-5");
  EXPECT_NEAR(fabric.route_latency({0}, {1}).value(), 2e-6, 1e-15);
  EXPECT_NEAR(fabric.route_latency({5}, {1}).value(), 3e-6, 1e-15);
  for (const char* used : {"hccs:0-2", "hccs:2-1", "hccs:5-6", "nic:6.up", "nic:6.down"})
    EXPECT_TRUE(fabric.on_detour(*fabric.find_link(used))) << used;
  for (const char* unused : {"hccs:0-1", "nic:5.up", "nic:7.up", "hccs:0-3"})
    EXPECT_FALSE(fabric.on_detour(*fabric.find_link(unused))) << unused;
  EXPECT_EQ(num_edges(fabric_graph(fabric)), num_edges(fabric_graph(intact)) - 4);
}

TEST(FabricFaults, DegradedLinksKeepTheirPartAndBlocksStay) {
  const Fabric intact(rails());
  LinkFaults faults;
  faults.bandwidth_factor[find_links(intact, "nic:5.up").front().value] = 0.25;
  const Fabric fabric(rails(), faults);
  for (std::uint32_t id = 0; id < fabric.link_count(); ++id) {
    const double part = fabric.link_name({id}) == "nic:5.up" ? 0.25 : 1;
    EXPECT_EQ(fabric.link({id}).bandwidth.value(), part * intact.link({id}).bandwidth.value());
  }
  EXPECT_EQ(fabric.block(LinkKind::nic_up).bandwidth, intact.block(LinkKind::nic_up).bandwidth);
  EXPECT_EQ(fabric.route({5}, {1}), intact.route({5}, {1}));
}

TEST(FabricFaults, UplinksOfALeafAreItsPortsOverTheOversubscription) {
  NetworkSpec network = rails().network;
  network.leaf_ports = 32;
  EXPECT_DOUBLE_EQ(uplinks(network), 32);
  network.oversubscription = 4;
  EXPECT_DOUBLE_EQ(uplinks(network), 8);
}

TEST(FabricFaults, ADegradedTrunkCanSaturateAndSoDoAllForThePlans) {
  const Fabric intact(rails());
  EXPECT_FALSE(intact.trunks_can_saturate());
  LinkFaults faults;
  faults.bandwidth_factor[find_links(intact, "leaf:3.down").front().value] = 0.5;
  const Fabric fabric(rails(), faults);
  EXPECT_TRUE(fabric.trunks_can_saturate());
  for (const LinkKind kind : {LinkKind::leaf_up, LinkKind::leaf_down})
    for (std::uint32_t leaf = 0; leaf < 8; ++leaf) {
      EXPECT_FALSE(intact.can_saturate(intact.leaf_link(kind, leaf)));
      EXPECT_TRUE(fabric.can_saturate(fabric.leaf_link(kind, leaf)));
    }
}

}  // namespace
}  // namespace stepcast
