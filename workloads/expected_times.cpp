#include <algorithm>
#include <map>

#include "layer_order.hpp"
#include "program_builder.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {

namespace {

/// The ranks of a group that a rank finds in its own node and super-node, itself included.
struct Spread {
  double all = 1, node = 1, super_node = 1;
};

Spread spread_of(const ClusterSpec& cluster, const ParallelPlan& plan, GroupKind kind) {
  // Where stages run faster than other coordinates, they lie between the ranks of a group.
  const std::vector<Rank> members = Placement{plan}.group(kind, Rank{0});
  // Consecutive ranks fill nodes and super-nodes, so that those of rank 0 are the first ones.
  const auto near = [&](std::int64_t devices) {
    return static_cast<double>(std::ranges::count_if(
        members, [&](Rank rank) { return static_cast<std::int64_t>(rank.value) < devices; }));
  };
  const std::int64_t node = cluster.node_devices;
  const std::int64_t super_node = cluster.super_node ? cluster.super_node->nodes * node : node;
  return {static_cast<double>(members.size()), near(node), near(super_node)};
}

/// Ranks of the node that share a link of a rank: each has one of its own in a mesh.
double behind_node_link(const NodeFabric& fabric, double ranks) {
  const bool meshed = std::holds_alternative<MeshFabric>(fabric) ||
                      std::holds_alternative<FullMeshFabric>(fabric) ||
                      std::holds_alternative<GroupFabric>(fabric);
  return meshed ? std::min(1.0, ranks) : ranks;
}

/// Of `bytes` that a rank exchanges with all others of its group alike: those inside the node, the
/// super-node and beyond each over their own links, at the same time.
double transfer_time(const ClusterSpec& cluster, const Spread& spread, double bytes) {
  // Of the bytes the part for the peers that lie behind this link.
  const auto over = [&](double ranks, const LinkSpec& link, double efficiency) {
    if (ranks <= 0 || link.bandwidth.value() <= 0) return 0.0;
    return bytes * ranks / spread.all / (efficiency * link.bandwidth.value()) +
           link.latency.value();
  };
  const NicSpec& nic = cluster.network.nic;
  LinkSpec out = nic.link;
  // All devices of a node send through its NIC at the same time.
  if (nic.per == NicSpec::Per::node)
    out.bandwidth = (1 / static_cast<double>(cluster.node_devices)) * out.bandwidth;
  double longest =
      std::max(over(behind_node_link(cluster.node_fabric, spread.node - 1),
                    node_link(cluster.node_fabric), node_efficiency(cluster.node_fabric)),
               over(spread.all - spread.super_node, out, nic.efficiency));
  if (cluster.super_node) {
    const SwitchFabric& fabric = cluster.super_node->fabric;
    longest =
        std::max(longest, over(spread.super_node - spread.node, fabric.port, fabric.efficiency));
  }
  return longest;
}

}  // namespace

std::vector<double> expected_times(const LayerItems& items, const ClusterSpec& cluster,
                                   const ParallelPlan& plan, const DeviceSpec& device, bool fp8) {
  std::map<GroupKind, Spread> spreads;
  std::vector<double> times;
  for (const LayerItem& item : items) {
    double time = 0;
    if (const auto* op = std::get_if<Operator>(&item)) {
      time = operator_time(*op, device, fp8).value();
      if (time > 0) time += start_cost(op->launch, device).value();
    } else if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      const auto [known, fresh] = spreads.try_emplace(call->group);
      if (fresh) known->second = spread_of(cluster, plan, call->group);
      // A reduce-scatter and an all-gather of the same bytes.
      const double ways = call->call.kind == CollectiveKind::all_reduce ? 2 : 1;
      time = device.launch.communication.value() +
             transfer_time(cluster, known->second, ways * call->call.bytes.value());
    }
    times.push_back(time);
  }
  return times;
}

}  // namespace stepcast
