#pragma once
#include <rapidcheck.h>

#include "stepcast/topology/fabric.hpp"

/// Random clusters, small ones unless asked.
namespace stepcast::test {

inline ClusterSpec random_cluster(std::int64_t fewest_nodes = 1, std::int64_t most_nodes = 9) {
  ClusterSpec spec;
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange<std::int64_t>(low, high + 1);
  };
  const std::int64_t group = pick(1, 4);
  spec.node_devices = group * pick(1, 2);
  spec.devices = spec.node_devices * pick(fewest_nodes, most_nodes);
  const LinkSpec link{BytesPerSecond{28e9}, Seconds{1e-6}};
  switch (pick(0, 2)) {
    case 0:
      spec.node_fabric = MeshFabric{link, 0.7};
      break;
    case 1:
      spec.node_fabric = SwitchFabric{{BytesPerSecond{196e9}, Seconds{2e-6}}, 0.8};
      break;
    default:
      spec.node_fabric = GroupFabric{group, link, {BytesPerSecond{16e9}, Seconds{3e-6}}, 0.9};
  }
  if (pick(0, 1) == 1)
    spec.super_node = SuperNodeSpec{
        pick(1, 4),
        {{BytesPerSecond{static_cast<double>(pick(1, 2)) * 100e9}, Seconds{4e-6}}, 0.9}};
  spec.network.nic.per = pick(0, 1) == 1 ? NicSpec::Per::device : NicSpec::Per::node;
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{5e-6}};
  spec.network.kind = static_cast<NetworkSpec::Kind>(pick(0, 4));
  spec.network.dragonfly = {.group_routers = pick(2, 3),
                            .global_links = pick(1, 3),
                            .local = {BytesPerSecond{20e9}, Seconds{3e-7}},
                            .global = {BytesPerSecond{10e9}, Seconds{6e-7}}};
  spec.network.leaf_ports = pick(1, 8);
  spec.network.oversubscription = static_cast<double>(pick(1, 3));
  if (spec.network.kind == NetworkSpec::Kind::leaf_spine && pick(0, 1) == 1) {
    spec.network.pod_leaves = pick(1, 3);
    spec.network.pod_oversubscription = static_cast<double>(pick(1, 3));
  }
  spec.collectives.node_step_latency = Seconds{5e-6};
  spec.collectives.step_latency = Seconds{6e-5};
  spec.collectives.library = static_cast<CollectiveLibrarySpec::Library>(pick(0, 1));
  spec.collectives.transfer.start = Seconds{static_cast<double>(pick(0, 1)) * 8e-6};
  spec.collectives.ring_start = Seconds{static_cast<double>(pick(0, 1)) * 90e-6};
  spec.collectives.pair_bandwidth = pick(0, 1) == 1 ? 1 : 0.8;
  spec.collectives.ring_loss = pick(0, 1) == 1 ? 0 : 0.1;
  if (pick(0, 1) == 1)
    spec.collectives.ll128 = RingProtocolSpec{.start = Seconds{20e-6},
                                              .step_latency = Seconds{1e-5},
                                              .node_step_latency = Seconds{1e-6},
                                              .bandwidth = 0.9,
                                              .node_bandwidth = 0.7};
  return spec;
}

}  // namespace stepcast::test
