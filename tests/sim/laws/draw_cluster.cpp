#include <algorithm>
#include <vector>

#include "drawing.hpp"

namespace stepcast::laws {

void Drawing::pick_cluster() {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : {2, 3, 4, 8})
    if (world() % n == 0) sizes.push_back(n);
  node_ = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(below(std::ssize(sizes)))];
  if (spread_) node_ = any<std::int64_t>({2, 4});
  set("cluster.devices", world());
  set("cluster.host.device_link.shared.devices", std::min<std::int64_t>(node_, 2));
  if (!spread_ && chance(9)) return pick_platform();
  set("cluster.node.devices", node_);
  take("cluster.collectives.library", "library", word({"hccl", "nccl"}));
  pick_topology();
  kinds_ = !spread_ && world() / node_ >= 2 && chance(18);
  if (!kinds_) {
    pick_allocation();
    return pick_fabric();
  }
  hit("node kinds");
  const std::int64_t nodes = world() / node_, first = 1 + below(nodes - 1);
  const std::string size = std::to_string(node_);
  const auto kind = [&](const char* file, std::int64_t count) {
    return "{extends: " + std::string(file) + ", nodes: " + std::to_string(count) +
           ", node: {devices: " + size + "}, host: {device_link: {shared: {devices: 1}}}}";
  };
  set("cluster.kinds",
      "[" + kind("cluster.yaml", first) + ", " + kind("slower.yaml", nodes - first) + "]");
}

/// All links come from a file of SimGrid's, which names no NICs, switches or cables.
void Drawing::pick_platform() {
  const std::string file = word({"fat-tree", "torus", "stars"});
  hit("platform");
  hit("platform " + file);
  set("cluster.network.platform",
      "{file: " + file + ".xml, devices_per_node: " + std::to_string(node_) + "}");
  set("cluster.collectives.library", "hccl");
  node_fabric_ = topology_ = nic_ = "platform";
  has_platform_ = true;
}

void Drawing::pick_topology() {
  topology_ = word({"single_switch", "leaf_spine", "leaf_spine", "rail_optimized", "rail_optimized",
                    "dragonfly", "dragonfly_plus"});
  hit("topology " + topology_);
  leaves_ = topology_ == "leaf_spine" || topology_ == "rail_optimized";
  const bool pods = topology_ == "leaf_spine" && chance(30);
  std::string keys;
  if (leaves_)
    keys =
        ", leaf_ports: " + word({"2", "4", "6"}) + ", oversubscription: " + word({"1", "2", "3"});
  if (pods) {
    hit("pods");
    keys += ", pod_leaves: 2, pod_oversubscription: " + word({"1", "2"});
  }
  if (topology_ == "dragonfly")
    keys = ", router_ports: 2, group_routers: 2, local: {bandwidth: 90Gbps, latency: 1us}";
  if (topology_ == "dragonfly_plus")
    keys = ", leaf_ports: 2, group_leaves: 2, oversubscription: " + word({"1", "2"});
  if (topology_ == "dragonfly" || topology_ == "dragonfly_plus")
    keys += ", global: {links: " + word({"1", "2"}) + ", bandwidth: 80Gbps, latency: 2us}";
  set("cluster.network.topology", "{kind: " + topology_ + keys + "}");
  if (leaves_ && !pods) pick_disturbance();
}

/// Nodes of a larger machine, with one left out in the middle.
void Drawing::pick_allocation() {
  const std::int64_t nodes = world() / node_;
  if (topology_ == "single_switch" || nodes < 2 || !chance(20)) return;
  hit("allocation");
  allocated_ = true;
  const std::int64_t first = 1 + below(nodes - 1);
  set("cluster.allocation", "[{first: 1, nodes: " + std::to_string(first) +
                                "}, {first: " + std::to_string(first + 2) +
                                ", nodes: " + std::to_string(nodes - first) + "}]");
}

/// Flows that hash onto the same uplink, and other jobs there.
void Drawing::pick_disturbance() {
  const std::string routing = word({"ideal", "ideal", "ecmp", "adaptive"});
  if (routing != "ideal") {
    take("cluster.network.routing", "routing", routing);
    set("cluster.network.queue_pairs", word({"1", "4"}));
  }
  if (chance(15)) {
    hit("background");
    set("cluster.network.background", word({"0.1", "0.4"}));
  }
}

/// A node joined by wires of its own; NCCL knows none.
void Drawing::pick_wires() {
  set("cluster.collectives.library", "hccl");
  const std::string side = ", bandwidth: 40GB/s, latency: 1us}";
  if (node_fabric_ == "graph") {
    std::string links;
    for (std::int64_t d = 0; d < node_; ++d)
      links += "{between: [" + std::to_string(d) + ", " + std::to_string(node_) + "]" + side + ", ";
    return set("cluster.node.fabric", "{kind: graph, switches: 1, links: [" + links + "]}");
  }
  const std::string two = node_ > 2 ? "{size: 2" + side + ", " : "";
  set("cluster.node.fabric", "{kind: " + node_fabric_ + ", dimensions: [" + two + "{size: " +
                                 std::to_string(node_ > 2 ? node_ / 2 : node_) + side + "]}");
}

void Drawing::pick_fabric() {
  node_fabric_ = node_ % 2 == 0 ? word({"mesh", "switch", "groups", "torus", "full_mesh", "graph"})
                                : word({"mesh", "switch"});
  if (spread_) node_fabric_ = "mesh";
  hit("fabric " + node_fabric_);
  if (node_fabric_ == "torus" || node_fabric_ == "full_mesh" || node_fabric_ == "graph")
    pick_wires();
  if (node_fabric_ == "switch")
    set("cluster.node.fabric", "{kind: switch, port: {bandwidth: 90GB/s, latency: 1us}}");
  if (node_fabric_ == "groups")
    set("cluster.node.fabric",
        "{kind: groups, size: 2, link: {bandwidth: 30GB/s, latency: 1us}, "
        "bridge: {bandwidth: 16GB/s, latency: 2us}}");
  nic_ = word({"device", "device", "node"});
  take("cluster.network.nic.per", "nic per", nic_);
  const std::int64_t nodes = world() / node_;
  if (nodes > 4 && has("cluster.collectives.library=nccl") && chance(60)) {
    hit("ring loss");
    set("cluster.collectives.ring_loss", word({"0.05", "0.2"}));
  }
  super_node_ = nodes % 2 == 0 && chance(25);
  if (!super_node_) return;
  hit("super-node");
  set("cluster.super_node",
      "{nodes: 2, fabric: {kind: switch, port: {bandwidth: 40GB/s, latency: 2us}}}");
}

/// Where copies meet each other and NICs; last, as it follows what is offloaded.
void Drawing::pick_host() {
  if (kinds_ || nic_.empty()) return;
  const bool copies =
      has("training.offload.optimizer=true") || has("training.offload.experts=true") ||
      has("training.offload.activations=0.5") || has("training.offload.activations=1") ||
      has("training.offload.activations=attention");
  if (!chance(copies ? 50 : 10) || (!copies && nic_ == "node")) return;
  const std::string nic = nic_ == "node" ? "device"
                          : copies       ? word({"device", "switch", "root"})
                                         : word({"switch", "root"});
  set("cluster.host.device_link.shared.bandwidth", "0B/s");
  set("cluster.host.pcie.switch_bandwidth", "40GB/s");
  set("cluster.host.pcie.switch_devices", node_ % 2 == 0 ? 2 : 1);
  take("cluster.host.pcie.nic", "pcie nic", nic);
}

/// Prices and power, which move no time. Other kinds of nodes and allocations have none.
void Drawing::pick_costs() {
  if (kinds_ || allocated_ || has_platform_ || !chance(15)) return;
  hit("costs");
  set("cluster.costs",
      "{currency: eur, amortisation: 1461d, electricity: " + word({"0", "0.1"}) +
          ", facility: 1.3, device: {price: 9000, power: 700}, node: {price: 20000, power: 900}, "
          "nic: {price: 500}, switch: {price: 15000, power: 1600, "
          "ports: 64}, cable: {price: 300, power: 8}" +
          (super_node_ ? ", super_node: {price: 40000}" : "") + "}");
}

void Drawing::pick_faults() {
  if (!has_platform_ && chance(15)) {
    hit("degraded links");
    set("stalls.degraded_links",
        "[{link: \"nic:0\", bandwidth_factor: " + word({"0.3", "0.5", "0.9"}) + "}]");
  }
  const bool meshed = node_fabric_ == "mesh" && node_ >= 3;
  if (nic_ == "device" && node_ > 1 && chance(12)) {
    hit("failed nic");
    set("stalls.failed_links", "[{link: \"nic:1\"}]");
  } else if (meshed && chance(25)) {
    hit("failed mesh link");
    set("stalls.failed_links", "[{link: \"hccs:0-1\"}]");
  } else if (nic_ == "device" && chance(12)) {
    hit("failed plane");
    set("cluster.network.nic.planes", std::int64_t{2});
    set("stalls.failed_links", "[{link: \"nic_plane:1\"}]");
  } else if (node_fabric_ == "switch" && chance(40)) {
    hit("failed port plane");
    set("cluster.node.fabric.planes", std::int64_t{2});
    set("stalls.failed_links", word({"[{link: \"plane:1\"}]", "[{link: \"port:0\", ports: 1}]"}));
  } else if (leaves_ && chance(20)) {
    hit("failed leaf ports");
    set("stalls.failed_links", "[{link: \"leaf:0\", ports: 1}]");
  }
}

void Drawing::pick_stalls() {
  if (chance(12)) {
    hit("slow devices");
    set("stalls.slow_devices",
        "[{devices: [" + std::to_string(below(world())) + "], factor: 1.3}]");
  }
  if (chance(12)) {
    hit("thermal class");
    set("stalls.thermal_classes", "[{slots: [0], clock: 0.9, core_share: 0.8}]");
  }
  if (chance(12)) {
    hit("slow hosts");
    set("stalls.slow_hosts",
        chance(50) ? "[{nodes: [0], factor: 2}]" : "[{nodes: [0], affinity: cross_numa}]");
  }
  if (chance(8)) {
    hit("throttling");
    set("stalls.throttling", "[{devices: [0], factor: 1.5, from: 5ms, until: 30ms, period: " +
                                 word({"none", "80ms"}) + "}]");
  }
  if (chance(8)) {
    hit("jitter");
    set("stalls.compute_jitter", "{sigma: 0.05}");
  }
  pick_pauses();
}

void Drawing::pick_pauses() {
  if (chance(8)) {
    hit("gc pauses");
    set("stalls.gc_pauses",
        "{duration: 4ms, period: 40ms, synchronised: " + word({"true", "false"}) + "}");
  }
  if (chance(8)) {
    hit("allocator pauses");
    set("stalls.allocator_pauses", "{duration: 1ms, probability: 0.2}");
  }
  if (chance(8)) {
    hit("data loader");
    set("stalls.data_loader", "{time_per_step: 60ms, prefetch: " + word({"0", "1"}) + "}");
  }
  if (chance(8)) {
    hit("checkpoint");
    set("stalls.checkpoint", "{every_steps: 2, blocking_time: 20ms}");
  }
  if (chance(15)) take("stalls.host_sync", "host_sync", word({"step", "unit"}));
}

/// What makes all wait once per step, and clocks that fall meanwhile.
void Drawing::pick_barriers() {
  for (const char* where : {"gradients", "optimizer", "step_end"})
    if (chance(12)) take("runtime.barriers." + std::string(where), "barrier", "true");
  if (!kinds_ && chance(12)) {
    hit("idle clock");
    set("cluster.device.idle_clock", "{speed: 0.5, hold: 0.2ms, ramp: 1ms}");
  } else if (!kinds_ && chance(12)) {
    hit("power cap");
    set("cluster.device.efficiency.matmul.sustained", word({"0.2", "0.5"}));
    set("cluster.device.power_cap", "{window: 1ms, attention: 0.7, other: 0.5, waiting: 0.2}");
  }
}

void Drawing::pick_simulation() {
  if (chance(15)) take("simulate.steps", "steps", "3");
  if (chance(25)) take("simulate.network", "network", "pairwise");
}

}  // namespace stepcast::laws
