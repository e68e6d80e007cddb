#include "describe_network.hpp"

#include "node_fabric.hpp"

namespace stepcast {
namespace {

constexpr Range port_count = between(1, max_devices);
constexpr Range plane_count = between(1, 64);
constexpr std::int64_t most_group_routers = 4096;  ///< each two of which have a channel
constexpr Range oversubscription_range = between(1, 1000);

void describe_nic(Visitor& visitor, NicSpec& spec) {
  visitor.field(
      {"per", choice(spec.per, {{"device"}, {"node"}}), "each device or each node has one"});
  describe_link(visitor, spec.link);
  describe_efficiency(visitor, spec.efficiency);
  visitor.field({"planes", &spec.planes,
                 "ports of one, each into a network of its own, which share its bandwidth",
                 plane_count});
}

void describe_leaves(Visitor& visitor, NetworkSpec& spec) {
  visitor.field({"leaf_ports", &spec.leaf_ports, "NICs below one leaf switch", port_count});
  visitor.field({"oversubscription", &spec.oversubscription,
                 "capacity of a leaf to its NICs over that to the spine, 1 = non-blocking",
                 oversubscription_range});
}

void describe_pods(Visitor& visitor, NetworkSpec& spec) {
  // A pod has the two tiers of a leaf-spine network, its core joins their spines: 0 leaves of a pod
  // means that there is no third tier.
  visitor.field({"pod_leaves", &spec.pod_leaves,
                 "a third tier: leaves of one pod, below spines of its own; 0: the "
                 "spines join all leaves",
                 between(0, max_devices)});
  visitor.field({"pod_oversubscription", &spec.pod_oversubscription,
                 "capacity of a pod's leaves to its spines over that of the pod to the core",
                 oversubscription_range});
}

void describe_groups(Visitor& visitor, DragonflySpec& spec) {
  visitor.section("global", "links between each two groups", [&](Visitor& v) {
    v.field({"links", &spec.global_links, "of them, in each direction", port_count});
    describe_link(v, spec.global);
  });
}

void describe_dragonfly(Visitor& visitor, NetworkSpec& spec) {
  visitor.field({"router_ports", &spec.leaf_ports, "NICs below one router", port_count});
  visitor.field({"group_routers", &spec.dragonfly.group_routers, "routers of one group",
                 between(2, most_group_routers)});
  visitor.section("local", "the link of each two routers of a group",
                  [&](Visitor& v) { describe_link(v, spec.dragonfly.local); });
  describe_groups(visitor, spec.dragonfly);
}

void describe_dragonfly_plus(Visitor& visitor, NetworkSpec& spec) {
  describe_leaves(visitor, spec);
  visitor.field({"group_leaves", &spec.dragonfly.group_routers,
                 "leaves of one group, below its spines", port_count});
  describe_groups(visitor, spec.dragonfly);
}

void describe_topology(Visitor& visitor, NetworkSpec& spec) {
  // Only the keys of the kind that is named may stand: a spine in a network without one is an error
  // and not ignored.
  using Kind = NetworkSpec::Kind;
  auto kind = static_cast<std::size_t>(spec.kind);
  visitor.alternatives(
      "kind",
      "rail_optimized: the i-th NIC of every node below the same leaves; dragonfly, "
      "dragonfly_plus: groups of routers or leaves, of which each two are joined",
      kind,
      {{"single_switch", [&](Visitor&) { spec.kind = Kind::single_switch; }},
       {"leaf_spine",
        [&](Visitor& v) {
          spec.kind = Kind::leaf_spine;
          describe_leaves(v, spec);
          describe_pods(v, spec);
        }},
       {"rail_optimized",
        [&](Visitor& v) {
          spec.kind = Kind::rail_optimized;
          describe_leaves(v, spec);
        }},
       {"dragonfly",
        [&](Visitor& v) {
          spec.kind = Kind::dragonfly;
          describe_dragonfly(v, spec);
        }},
       {"dragonfly_plus", [&](Visitor& v) {
          spec.kind = Kind::dragonfly_plus;
          describe_dragonfly_plus(v, spec);
        }}});
}

void describe_platform(Visitor& visitor, PlatformSpec& spec) {
  visitor.field(
      {"file", &spec.file, "platform file of SimGrid, beside this one", any_number(), true});
  visitor.field({"hosts", &spec.hosts,
                 "names of the hosts that are devices, with * and ?, in the order of the file"});
  visitor.field({"devices_per_node", &spec.devices_per_node,
                 "devices of one node, which follow each other in the file", port_count});
}

}  // namespace

void describe_link(Visitor& visitor, LinkSpec& spec) {
  visitor.field({"bandwidth", &spec.bandwidth, "per direction", rate_range, true});
  visitor.field({"latency", &spec.latency, "of one message", time_range});
}

void describe_efficiency(Visitor& visitor, double& target) {
  visitor.field(
      {"efficiency", &target, "fraction of the bandwidth that transfers reach", fraction()});
}

void describe_switch(Visitor& visitor, SwitchFabric& spec) {
  visitor.section("port", "the port of each device",
                  [&](Visitor& v) { describe_link(v, spec.port); });
  describe_efficiency(visitor, spec.efficiency);
  visitor.field({"planes", &spec.planes,
                 "switches side by side, each with its part of every port (docs/models/fabric.md)",
                 plane_count});
}

void describe_super_node(Visitor& visitor, SuperNodeSpec& spec) {
  visitor.field({"nodes", &spec.nodes, "nodes of one super-node", port_count, true});
  visitor.section("fabric", "what joins the nodes of a super-node", [&](Visitor& v) {
    std::size_t kind{};
    v.alternatives("kind", "switch: a port per device", kind,
                   {{"switch", [&](Visitor& w) { describe_switch(w, spec.fabric); }}});
  });
}

void describe_network(Visitor& visitor, NetworkSpec& spec) {
  // The file has a NIC with switches or a platform file of SimGrid's, never both.
  std::size_t source = spec.platform ? 1 : 0;
  visitor.one_of(
      source, {{"nic",
                [&](Visitor& v) {
                  v.section("nic", "network card", [&](Visitor& w) { describe_nic(w, spec.nic); });
                  v.section("topology", "switches between the NICs",
                            [&](Visitor& w) { describe_topology(w, spec); });
                  describe_routing(v, spec);
                }},
               {"platform", [&](Visitor& v) {
                  if (!spec.platform) spec.platform.emplace();
                  v.section("platform",
                            "instead of all keys of nodes, NICs and switches: a file of SimGrid's "
                            "(docs/models/platform.md)",
                            [&](Visitor& w) { describe_platform(w, *spec.platform); });
                }}});
  if (source == 0) spec.platform.reset();
}

}  // namespace stepcast
