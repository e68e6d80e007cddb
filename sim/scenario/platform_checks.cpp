
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/topology/platform_table.hpp"
#include "stepcast/workloads/collectives.hpp"

/// What a platform file, and an allocation, leave to the other keys of a cluster.
namespace stepcast {

void check_platform(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const bool joined = std::holds_alternative<PlatformFabric>(cluster.node_fabric);
  const std::string node_kind = prefix + "node.fabric.kind";
  // Node and network of a platform file are one graph: either both come from it or neither does.
  if (!cluster.network.platform) {
    if (checks.good_below(prefix + "network"))
      checks.require(!joined, node_kind,
                     "is platform but no file is given, allowed: another kind, or "
                     "network.platform.file");
    return;
  }
  const PlatformSpec& platform = *cluster.network.platform;
  const std::string key = prefix + "network.platform";
  checks.require(joined, node_kind,
                 "does not go with network.platform, whose links join the devices of a node too, "
                 "allowed: platform, or no node");
  checks.require(cluster.node_devices == platform.devices_per_node, prefix + "node.devices",
                 "is " + count_text(cluster.node_devices) + " but " + key +
                     ".devices_per_node is " + count_text(platform.devices_per_node) +
                     ", allowed: no node");
  checks.require(!cluster.super_node, prefix + "super_node",
                 "does not go with network.platform, which has all links, allowed: none");
  checks.require(!cluster.costs, prefix + "costs",
                 "counts NICs, switches and cables, which a platform file does not name, allowed: "
                 "none");
  checks.require(cluster.allocation.empty(), prefix + "allocation",
                 "does not go with network.platform, whose hosts pattern says which are taken, "
                 "allowed: none");
  // Routes between all pairs are kept, which grows with the square of the devices.
  checks.require(cluster.devices <= most_platform_devices, prefix + "devices",
                 "is " + count_text(cluster.devices) + " on a platform file, which has " +
                     shortest(static_cast<double>(cluster.devices) *
                              static_cast<double>(cluster.devices - 1)) +
                     " routes between them, allowed: at most " + count_text(most_platform_devices));
}

/// Nodes of a kind stand in the order of the cluster, so that kinds say where they are already.
void check_allocation(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const std::string list = prefix + "allocation";
  if (cluster.allocation.empty() || !checks.good_below(list)) return;
  checks.require(!cluster.costs, prefix + "costs",
                 "counts switches and super-nodes from the first node on, where an allocation may "
                 "have none, allowed: none, or no allocation");
  // Runs ascend and do not overlap: a node is one node of the cluster.
  std::int64_t end = 0, nodes = 0;
  for (std::size_t i = 0; i < cluster.allocation.size(); ++i) {
    const NodeRun& run = cluster.allocation[i];
    const std::string key = list + "." + std::to_string(i);
    if (!checks.require(run.first >= end, key + ".first",
                        "is " + count_text(run.first) + ", allowed: at least " + count_text(end) +
                            ", behind the nodes before") ||
        !checks.require(static_cast<double>(run.first + run.nodes) <= max_devices, key + ".nodes",
                        "lead to node " + count_text(run.first + run.nodes - 1) +
                            ", allowed: below " + shortest(max_devices)))
      return;
    end = run.first + run.nodes;
    nodes += run.nodes;
  }
  if (checks.good({prefix + "devices", prefix + "node.devices"}))
    checks.require(nodes == cluster.nodes(), list,
                   "has " + count_text(nodes) + " nodes, allowed: the " +
                       count_text(cluster.nodes()) +
                       " of the cluster (devices / node.devices), or the first ones, none");
  checks.require(cluster.kinds.empty(), list,
                 "is given in a cluster of several kinds of nodes, allowed: none");
  // On one switch all nodes are alike, wherever they are.
  const bool matters =
      cluster.super_node || cluster.network.kind != NetworkSpec::Kind::single_switch;
  checks.require(matters, list,
                 "is given but all nodes hang on one switch, allowed: none, or super_node or "
                 "network.topology of several switches");
}

/// Ports and super links of one die lead into the same switch chips.
void check_planes(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto* ports = std::get_if<SwitchFabric>(&cluster.node_fabric);
  if (ports == nullptr || !cluster.super_node) return;
  const std::int64_t above = cluster.super_node->fabric.planes;
  checks.require(ports->planes == above || !checks.good_below(prefix + "node.fabric"),
                 prefix + "super_node.fabric.planes",
                 "is " + count_text(above) + " above ports of " + count_text(ports->planes) +
                     " planes, allowed: as many as node.fabric has");
}

void check_exchange(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  using Library = CollectiveLibrarySpec::Library;
  if (cluster.collectives.exchange == CollectiveLibrarySpec::Exchange::staged) return;
  const auto require = [&](bool holds, const char* why) {
    checks.require(holds, prefix + "collectives.all_to_all",
                   std::string("is pipeline but ") + why + ", allowed: staged");
  };
  // What HCCL's pipelined all-to-all asks for, in the order in which HCCL itself decides
  // (docs/models/collectives.md).
  require(cluster.collectives.library == Library::hccl, "collectives.library is nccl");
  require(cluster.collectives.buffer >= least_pipelined_exchange_buffer() ||
              !checks.good({prefix + "collectives.buffer"}),
          "HCCL takes it where collectives.buffer holds 80 MiB");
  require(!cluster.super_node, "super-nodes join their nodes by a fabric of their own");
  const bool meshes = std::holds_alternative<MeshFabric>(cluster.node_fabric) ||
                      std::holds_alternative<GroupFabric>(cluster.node_fabric);
  require(meshes || !checks.good_below(prefix + "node.fabric"),
          "no pair of devices of a node has a link of its own");
}

void check_platform_job(const Scenario& scenario, Checks& checks) {
  if (!scenario.cluster.network.platform) return;
  checks.require(scenario.stalls.failed_links.empty(), "stalls.failed_links",
                 "are given on a platform file, which has one route for each pair and none around, "
                 "allowed: none, or degraded_links");
  checks.require(!scenario.campaign, "campaign",
                 "is given on a platform file, which does not say which links lead to storage, "
                 "allowed: none");
}

}  // namespace stepcast
