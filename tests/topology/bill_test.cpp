#include "stepcast/topology/bill.hpp"

#include <gtest/gtest.h>

/// docs/models/costs.md.
namespace stepcast {
namespace {

using namespace literals;

ClusterSpec cluster(std::int64_t devices, std::int64_t leaf_ports) {
  ClusterSpec c;
  c.devices = devices;
  c.node_devices = 8;
  c.node_fabric = SwitchFabric{{450_GBps, 1_us}, 1};
  c.network.nic.link = {50_GBps, 1_us};
  c.network.kind = NetworkSpec::Kind::leaf_spine;
  c.network.leaf_ports = leaf_ports;
  return c;
}

// With switches of R ports and nothing oversubscribed N ends need 3 N / R switches and 2 N cables,
// with a third tier 5 N / R and 3 N.
TEST(Bill, CountsSwitchesAndCablesOfTwoTiers) {
  const NetworkParts parts = network_parts(Fabric(cluster(2048, 32)), 64);
  EXPECT_EQ(parts.switches(), 3 * 2048 / 64);
  EXPECT_EQ(parts.cables, 2 * 2048);
  EXPECT_EQ(parts.leaf_ports, 64);
}

TEST(Bill, CountsSwitchesAndCablesOfThreeTiers) {
  ClusterSpec c = cluster(32768, 32);
  c.network.pod_leaves = 32;
  const NetworkParts parts = network_parts(Fabric(c), 64);
  EXPECT_EQ(parts.switches(), 5 * 32768 / 64);
  EXPECT_EQ(parts.cables, 3 * 32768);
}

TEST(Bill, OversubscriptionSparesWhatIsAboveTheLeaves) {
  ClusterSpec c = cluster(2048, 48);
  c.network.oversubscription = 3;
  const NetworkParts parts = network_parts(Fabric(c), 64);
  EXPECT_EQ(parts.leaves, 43);
  EXPECT_EQ(parts.spines, 11);  // 43 x 16 links on 64 ports each
  EXPECT_EQ(parts.cables, 2048 + 43 * 16);
}

TEST(Bill, NicsBelowOneSwitchNeedNoSpine) {
  const NetworkParts parts = network_parts(Fabric(cluster(32, 32)), 0);
  EXPECT_EQ(parts.switches(), 1);
  EXPECT_EQ(parts.cables, 32);
  ClusterSpec c = cluster(64, 32);
  c.network.kind = NetworkSpec::Kind::single_switch;
  EXPECT_EQ(network_parts(Fabric(c), 0).leaf_ports, 64);
}

TEST(Bill, EveryPlaneIsANetwork) {
  ClusterSpec c = cluster(2048, 32);
  c.network.nic.planes = 2;
  const NetworkParts parts = network_parts(Fabric(c), 64);
  EXPECT_EQ(parts.switches(), 2 * 3 * 2048 / 64);
  EXPECT_EQ(parts.cables, 2 * 2 * 2048);
  EXPECT_EQ(parts.leaf_ports, 64);
}

TEST(Bill, AddsUpPartsAndWritesThemOff) {
  ClusterSpec c = cluster(2048, 32);
  CostSpec& costs = c.costs.emplace();
  costs.currency = "usd";
  costs.amortisation = Seconds{1e8};
  costs.electricity = 0.36;  // 1e-7 a joule
  costs.facility = 1.25;
  costs.switch_ports = 64;
  costs.device = {20'000, 0};
  costs.node = {50'000, 2000};
  costs.network_switch = {30'000, 1000};
  costs.cable = {1000, 0};
  const Bill bill = bill_of(Fabric(c));
  EXPECT_DOUBLE_EQ(bill.price(), 2048 * 20e3 + 256 * 50e3 + 96 * 30e3 + 4096 * 1e3);
  EXPECT_DOUBLE_EQ(bill.power(), 1.25 * (256 * 2000 + 96 * 1000));
  const double joules = 7e6;
  EXPECT_DOUBLE_EQ(cost_of(costs, bill, Seconds{3}, joules),
                   bill.price() * 3e-8 + (joules + 3 * bill.power()) * 1e-7);
}

}  // namespace
}  // namespace stepcast
