#include "stepcast/topology/bill.hpp"

#include <cmath>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double joules_per_kilowatt_hour = 3.6e6;

/// Whole switches that so many links fill; none where the file does not say how many ports one has.
double on_ports(double links, std::int64_t ports) {
  return ports > 0 ? std::ceil(links / static_cast<double>(ports)) : 0;
}

}  // namespace

double Bill::price() const {
  double sum = 0;
  for (const BillRow& row : rows) sum += row.total();
  return sum;
}

double Bill::power() const {
  double sum = 0;
  for (const BillRow& row : rows) sum += row.watts();
  // Devices draw what the replay says they draw; the bill adds what takes power all the time.
  return facility * sum;
}

namespace {

/// Routers hold the channels as well: each local one and each global link is a cable both ways. The
/// groups of a dragonfly+ have spines for the uplinks of their leaves and the global links.
NetworkParts dragonfly_parts(const Fabric& fabric, std::int64_t ports) {
  const NetworkSpec& network = fabric.cluster().network;
  const Dragonfly& dragonfly = fabric.dragonfly();
  const double groups = dragonfly.groups(), routers = dragonfly.routers();
  // Two groups share one bundle, so that the pairs of groups are counted once.
  const double globals =
      groups * (groups - 1) / 2 * static_cast<double>(network.dragonfly.global_links);
  const double of_group = (groups - 1) * static_cast<double>(network.dragonfly.global_links);
  NetworkParts parts;
  parts.leaves = groups * routers;
  // Routers are joined directly: each has a port for each other one of its group.
  const double up = dragonfly.plus() ? std::ceil(uplinks(network)) : routers - 1;
  parts.leaf_ports = static_cast<double>(network.leaf_ports) + up;
  // Spines end the uplinks of the leaves below and the global links of their group alike.
  if (dragonfly.plus())
    parts.spines = groups * on_ports(routers * up + of_group, ports);
  else
    parts.leaf_ports += std::ceil(of_group / routers);
  // A link of a full mesh serves both directions and is one cable.
  const double within = dragonfly.plus() ? routers * up : routers * (routers - 1) / 2;
  parts.cables = static_cast<double>(fabric.nics()) + groups * within + globals;
  return parts;
}

/// Of one plane. A leaf has all its uplinks, also where few NICs hang below it: trunks are as wide.
NetworkParts parts_of_plane(const Fabric& fabric, std::int64_t ports) {
  const NetworkSpec& network = fabric.cluster().network;
  const auto nics = static_cast<double>(fabric.nics());
  NetworkParts parts;
  parts.cables = nics;
  // Dragonflies have cables and switches of their own; the leaves below are those of a fat tree.
  const Dragonfly& dragonfly = fabric.dragonfly();
  if (!dragonfly.empty()) return dragonfly_parts(fabric, ports);
  // Without leaves all NICs hang on one switch, however many ports that takes.
  if (fabric.leaves() == 0) {
    parts.leaves = 1;
    parts.leaf_ports = nics;
    return parts;
  }
  parts.leaves = static_cast<double>(fabric.leaves());
  // A lone leaf joins all NICs, and nothing above it is ever bought.
  const bool above = fabric.leaves() > 1;
  const double up = above ? std::ceil(uplinks(network)) : 0;
  parts.leaf_ports = static_cast<double>(network.leaf_ports) + up;
  const double trunks = parts.leaves * up;
  // The trunk of a pod carries what (2) of docs/models/fabric.md leaves of its leaves' uplinks.
  const double core = fabric.pods() > 1 ? std::ceil(trunks / network.pod_oversubscription) : 0;
  parts.cables += trunks + core;
  // A spine ends the trunks of leaves below it and those to the core above it.
  parts.spines = on_ports(trunks + core, ports);
  parts.core = on_ports(core, ports);
  return parts;
}

}  // namespace

NetworkParts network_parts(const Fabric& fabric, std::int64_t ports) {
  NetworkParts parts = parts_of_plane(fabric, ports);
  // Each plane is a network of its own, with as many switches and cables as the others.
  const auto planes = static_cast<double>(fabric.cluster().network.nic.planes);
  for (double* part : {&parts.leaves, &parts.spines, &parts.core, &parts.cables}) *part *= planes;
  return parts;
}

Bill bill_of(const Fabric& fabric) {
  const ClusterSpec& cluster = fabric.cluster();
  expects(cluster.costs.has_value(), "the cluster has costs");
  const CostSpec& costs = *cluster.costs;
  Bill bill;
  bill.facility = costs.facility;
  // Parts of which the cluster has none get no row, so that a bill adds up to what it shows.
  const auto add = [&](const char* part, const CostItem& item, double count) {
    if (count > 0) bill.rows.push_back({part, count, item.price, item.power});
  };
  // Counted from the fabric's graph, not from the keys: degraded or absent tiers are counted as
  // they are.
  const NetworkParts network = network_parts(fabric, costs.switch_ports);
  add("device", costs.device, static_cast<double>(fabric.devices()));
  add("node", costs.node, static_cast<double>(fabric.nodes()));
  add("nic", costs.nic, static_cast<double>(fabric.nics()));
  add("switch", costs.network_switch, network.switches());
  add("cable", costs.cable, network.cables);
  if (cluster.super_node)
    add("super_node", costs.super_node, static_cast<double>(fabric.super_nodes()));
  return bill;
}

double cost_of(const CostSpec& costs, const Bill& bill, Seconds seconds, double joules) {
  // docs/models/costs.md: prices are written off evenly over time, so that a run pays its part.
  const double written_off = bill.price() * (seconds / costs.amortisation);
  const double energy = joules + bill.power() * seconds.value();
  return written_off + energy / joules_per_kilowatt_hour * costs.electricity;
}

}  // namespace stepcast
