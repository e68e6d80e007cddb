#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace stepcast::test {

/// Wrong overrides of the small scenario and all that must be said about them.
struct WrongOverride {
  const char* name;
  std::vector<std::string> overrides;
  const char* errors;
};
inline void PrintTo(const WrongOverride& row, std::ostream* out) { *out << row.name; }

/// PCIe trees.
inline const WrongOverride wrong_host[] = {
    {"cores_without_a_bandwidth",
     {"cluster.host.cores.count=8"},
     "--set cluster.host.cores.count=8: cluster.host.cores.count: is 8 but counts only with "
     "host.cores.bandwidth, allowed: 0, or with it"},
    {"statements_of_nothing_recomputed",
     {"runtime.recompute_statements=18", "cluster.host.statement=4us"},
     "--set runtime.recompute_statements=18: runtime.recompute_statements: is given but nothing is "
     "recomputed, allowed: 0, or training.recompute"},
    {"statements_without_a_time",
     {"runtime.recompute_statements=18", "training.recompute=full"},
     "--set runtime.recompute_statements=18: runtime.recompute_statements: is given but "
     "cluster.host.statement is 0, allowed: 0"},
    {"a_slow_share_of_no_factor",
     {"stalls.spread={node: {slow_share: 1}}"},
     "--set stalls.spread={node: {slow_share: 1}}: stalls.spread.node.slow_share: is 1 but no "
     "factor is given, allowed: with slow_factor above 1"},
    {"a_slow_factor_of_no_node",
     {"stalls.spread={node: {slow_factor: 1.5}}"},
     "--set stalls.spread={node: {slow_factor: 1.5}}: stalls.spread.node.slow_factor: is 1.5 but "
     "no node is slow, allowed: with slow_share above 0"},
    {"a_fleet_that_is_a_word",
     {"cluster.fleet=none"},
     "--set cluster.fleet=none: cluster.fleet: is 'none', allowed: a mapping of device_sigma, "
     "slow_nodes, screened, throttled, or flawless"},
    {"a_fleet_of_negative_sigma",
     {"cluster.fleet.device_sigma=-0.01"},
     "--set cluster.fleet.device_sigma=-0.01: cluster.fleet.device_sigma: is -0.01, allowed: 0 to "
     "0.5"},
    {"slow_nodes_of_no_factor",
     {"cluster.fleet.slow_nodes.share=0.005"},
     "--set cluster.fleet.slow_nodes.share=0.005: cluster.fleet.slow_nodes.share: is 0.005 and "
     "changes nothing, allowed: with cluster.fleet.slow_nodes.factor above 1"},
    {"throttled_devices_of_no_share",
     {"cluster.fleet.throttled.factor=1.2"},
     "--set cluster.fleet.throttled.factor=1.2: cluster.fleet.throttled.factor: is 1.2 and changes "
     "nothing, allowed: with cluster.fleet.throttled.share above 0"},
    {"screening_of_no_slow_node",
     {"cluster.fleet={device_sigma: 0.01, screened: true}"},
     "--set cluster.fleet={device_sigma: 0.01, screened: true}: cluster.fleet.screened: is true "
     "but no node is slow, allowed: with cluster.fleet.slow_nodes.share above 0"},
    {"a_law_of_no_width",
     {"stalls.spread={node: {law: normal}}"},
     "--set stalls.spread={node: {law: normal}}: stalls.spread.node.law: is given without sigma, "
     "allowed: with it, or without law"},
    {"a_seed_of_no_draw",
     {"stalls.spread={seed: 7}"},
     "--set stalls.spread={seed: 7}: stalls.spread.seed: is given but nothing is drawn, allowed: "
     "with device, host, node, link or transient"},
    {"a_pcie_tree_without_switches",
     {"cluster.host.pcie={switch_devices: 2, nic: root}"},
     "--set cluster.host.pcie={switch_devices: 2, nic: root}: cluster.host.pcie.switch_devices: is "
     "given but switch_bandwidth is 0, allowed: 1\n"
     "--set cluster.host.pcie={switch_devices: 2, nic: root}: cluster.host.pcie.nic: is given but "
     "switch_bandwidth is 0, allowed: device"},
    {"a_pcie_tree_without_links",
     {"cluster.host.pcie={switch_bandwidth: 40GB/s, nic: root}"},
     "--set cluster.host.pcie={switch_bandwidth: 40GB/s, nic: root}: "
     "cluster.host.pcie.switch_bandwidth: is given but cluster.host.device_link.bandwidth is 0, "
     "allowed: 0B/s"},
    {"a_pcie_tree_that_nothing_uses",
     {"cluster.host.device_link.bandwidth=64GB/s", "cluster.host.pcie.switch_bandwidth=40GB/s"},
     "--set cluster.host.pcie.switch_bandwidth=40GB/s: cluster.host.pcie.switch_bandwidth: is "
     "given but nothing is offloaded and NICs are not in the tree, allowed: 0B/s"},
    {"a_pcie_tree_beside_an_even_share",
     {"cluster.host.device_link={bandwidth: 64GB/s, shared: {bandwidth: 80GB/s, devices: 2}}",
      "training.offload.activations=0.5", "cluster.host.pcie.switch_bandwidth=40GB/s"},
     "--set cluster.host.pcie.switch_bandwidth=40GB/s: cluster.host.pcie.switch_bandwidth: is "
     "given beside cluster.host.device_link.shared, which is an even share of the same, allowed: "
     "0B/s, or shared.bandwidth 0B/s"},
    {"pcie_switches_that_do_not_divide",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.activations=0.5",
      "cluster.host.pcie={switch_bandwidth: 40GB/s, switch_devices: 3}"},
     "--set cluster.host.pcie={switch_bandwidth: 40GB/s, switch_devices: 3}: "
     "cluster.host.pcie.switch_devices: is 3, must divide the 8 devices of a node, allowed: 1, 2, "
     "4, 8"},
    {"a_nic_of_a_node_in_a_pcie_tree",
     {"cluster.host.device_link.bandwidth=64GB/s", "cluster.network.nic.per=node",
      "cluster.host.pcie={switch_bandwidth: 40GB/s, nic: root}"},
     "--set cluster.host.pcie={switch_bandwidth: 40GB/s, nic: root}: cluster.host.pcie.nic: is "
     "given but a NIC is that of a node (cluster.network.nic.per), allowed: device"},
    {"kernels_of_an_update_that_hosts_do",
     {"cluster.host.device_link.bandwidth=64GB/s", "training.offload.optimizer=true",
      "cluster.host.memory.bandwidth=400GB/s", "training.offload.update=host",
      "runtime.optimizer=elementwise"},
     "--set runtime.optimizer=elementwise: runtime.optimizer: is of the kernels of a device, but "
     "training.offload.update host has hosts update all states, allowed: fused"},
};

}  // namespace stepcast::test
