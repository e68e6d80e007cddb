#include <gtest/gtest.h>

#include "stepcast/topology/fabric.hpp"

/// The PCIe tree between devices, NICs and the memory of hosts. docs/models/offload.md.
namespace stepcast::pcie {
namespace {

ClusterSpec cluster(PcieTree::Nic nic) {
  ClusterSpec c;
  c.devices = 8;
  c.node_devices = 4;
  c.network.nic.link = {BytesPerSecond{25e9}, Seconds{2e-6}};
  c.host.device_link_bandwidth = BytesPerSecond{32e9};
  c.host.pcie = {2, BytesPerSecond{40e9}, nic};
  return c;
}

std::vector<std::string> names(const Fabric& fabric, const char* link) {
  std::vector<std::string> found;
  for (const LinkId more : fabric.over_pcie(fabric.find_link(link).value()))
    found.push_back(fabric.link_name(more));
  return found;
}

using Names = std::vector<std::string>;

TEST(Pcie, CopiesCrossTheUplinkOfTheirSwitch) {
  const Fabric fabric(cluster(PcieTree::Nic::device));
  EXPECT_EQ(names(fabric, "pcie:5.up"), Names{"switch:2.up"});
  EXPECT_EQ(names(fabric, "pcie:0.down"), Names{"switch:0.down"});
  EXPECT_EQ(names(fabric, "switch:0.up"), Names{});
  EXPECT_EQ(names(fabric, "nic:5.up"), Names{});
  EXPECT_EQ(fabric.link(*fabric.find_link("pcie:7.up")).bandwidth.value(), 32e9);
  EXPECT_EQ(fabric.link(*fabric.find_link("switch:3.down")).bandwidth.value(), 40e9);
  EXPECT_EQ(fabric.find_link("switch:4.up"), std::nullopt);
}

TEST(Pcie, NicsBehindASwitchStayBelowItAndOthersPassTheRoot) {
  const Fabric below(cluster(PcieTree::Nic::pcie_switch));
  EXPECT_EQ(names(below, "nic:5.up"), Names{"pcie:5.up"});
  EXPECT_EQ(names(below, "nic:5.down"), Names{"pcie:5.down"});
  const Fabric root(cluster(PcieTree::Nic::root));
  EXPECT_EQ(names(root, "nic:5.up"), (Names{"pcie:5.up", "switch:2.up"}));
  EXPECT_EQ(names(root, "nic:2.down"), (Names{"pcie:2.down", "switch:1.down"}));
}

TEST(Pcie, OtherLinksKeepTheirIdsAndRoutes) {
  ClusterSpec without = cluster(PcieTree::Nic::root);
  without.host.pcie = {};
  const Fabric plain(without), tree(cluster(PcieTree::Nic::root));
  EXPECT_FALSE(plain.has_pcie());
  EXPECT_TRUE(tree.has_pcie());
  EXPECT_EQ(tree.link_count(), plain.link_count() + 2 * (8 + 4));
  for (std::uint32_t l = 0; l < plain.link_count(); ++l) {
    EXPECT_EQ(plain.link_name({l}), tree.link_name({l}));
    EXPECT_TRUE(plain.over_pcie({l}).empty());
  }
  EXPECT_EQ(plain.route({0}, {7}), tree.route({0}, {7}));
}

}  // namespace
}  // namespace stepcast::pcie
