#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "collective_fabrics.hpp"

/// Collectives over NICs that hang in a PCIe tree. docs/models/offload.md.
namespace stepcast::pcie {
namespace {

constexpr double nic = 22e9, lane = 20e9, uplink = 24e9;

/// Two nodes of four devices, two to a switch, and no latency.
ClusterSpec in_tree(PcieTree tree) {
  ClusterSpec spec = test::switched({.nodes = 2,
                                     .per_node = 4,
                                     .nic = {BytesPerSecond{nic}, Seconds{0}},
                                     .node_step = Seconds{0},
                                     .step = Seconds{0}});
  spec.host.device_link_bandwidth = BytesPerSecond{lane};
  spec.host.pcie = tree;
  return spec;
}

PcieTree tree_of(PcieTree::Nic where) { return {2, BytesPerSecond{uplink}, where}; }

double exchange_time(const ClusterSpec& spec, std::int64_t ranks, std::int64_t stride,
                     double bytes) {
  const Fabric fabric(spec);
  return lone_time(fabric, plan_collective(fabric, test::first_devices(ranks, stride),
                                           {CollectiveKind::all_to_all, Bytes{bytes}}, "pairwise"))
      .value();
}

double bound_of(const ClusterSpec& spec, std::int64_t ranks, std::int64_t stride, double bytes) {
  return bandwidth_bound(Fabric(spec), test::first_devices(ranks, stride),
                         {CollectiveKind::all_to_all, Bytes{bytes}})
      .value();
}

// One device of each node exchanges half of its bytes by its NIC, through its own link.
TEST(PcieCollectives, ANicIsNoFasterThanTheLinkOfItsDevice) {
  using enum PcieTree::Nic;
  EXPECT_NEAR(exchange_time(in_tree({}), 2, 4, 2e9), 1e9 / nic, 1e-9);
  EXPECT_NEAR(exchange_time(in_tree(tree_of(device)), 2, 4, 2e9), 1e9 / nic, 1e-9);
  for (const auto where : {pcie_switch, root}) {
    EXPECT_NEAR(exchange_time(in_tree(tree_of(where)), 2, 4, 2e9), 1e9 / lane, 1e-9);
    EXPECT_NEAR(bound_of(in_tree(tree_of(where)), 2, 4, 2e9), 1e9 / lane, 1e-9);
  }
}

// Of eight ranks each sends half of its bytes to the other node: two NICs share an uplink of the
// tree, if their bytes cross it.
TEST(PcieCollectives, NicsBelowTheRootShareTheUplinkOfTheirSwitch) {
  using enum PcieTree::Nic;
  EXPECT_NEAR(exchange_time(in_tree(tree_of(device)), 8, 1, 2e9), 1e9 / nic, 1e-9);
  EXPECT_NEAR(exchange_time(in_tree(tree_of(pcie_switch)), 8, 1, 2e9), 1e9 / lane, 1e-9);
  EXPECT_NEAR(exchange_time(in_tree(tree_of(root)), 8, 1, 2e9), 2e9 / uplink, 1e-9);
  EXPECT_NEAR(bound_of(in_tree(tree_of(root)), 8, 1, 2e9), 2e9 / uplink, 1e-9);
}

// Inside a node nothing goes by NICs.
TEST(PcieCollectives, ANodeByItselfSeesNoTree) {
  EXPECT_EQ(exchange_time(in_tree({}), 4, 1, 2e9),
            exchange_time(in_tree(tree_of(PcieTree::Nic::root)), 4, 1, 2e9));
}

TEST(PcieCollectives, AreNeverFasterThanTheirBoundOrWithoutTheTree) {
  EXPECT_TRUE(rc::check([] {
    using enum PcieTree::Nic;
    PcieTree tree = tree_of(*rc::gen::element(device, pcie_switch, root));
    tree.switch_devices = *rc::gen::element(1, 2, 4);
    tree.switch_bandwidth = BytesPerSecond{*rc::gen::inRange(5, 60) * 1e9};
    const Fabric plain(in_tree({})), fabric(in_tree(tree));
    const auto members = test::first_devices(*rc::gen::inRange<std::int64_t>(2, 9));
    const CollectiveCall call{
        static_cast<CollectiveKind>(*rc::gen::inRange(0, static_cast<int>(chosen_kinds))),
        Bytes{*rc::gen::inRange(1, 1000) * 1e6}};
    const double bound = bandwidth_bound(fabric, members, call).value();
    RC_ASSERT(bound >= bandwidth_bound(plain, members, call).value() * (1 - 1e-12));
    for (const NamedAlgorithm& algorithm : collective_algorithms()) {
      const auto plan = algorithm.plan(fabric, members, call, NetworkForm::ports);
      if (!plan) continue;
      const double time = lone_time(fabric, *plan).value();
      RC_ASSERT(time >= bound * (1 - 1e-9));
      RC_ASSERT(time >= lone_time(plain, *plan).value() * (1 - 1e-9));
    }
  }));
}

}  // namespace
}  // namespace stepcast::pcie
