#include "stepcast/topology/bill.hpp"

#include <cmath>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double joules_per_kilowatt_hour = 3.6e6;

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
  return facility * sum;
}

/// A leaf has all its uplinks, also where few NICs hang below it: trunks are as wide.
NetworkParts network_parts(const Fabric& fabric, std::int64_t ports) {
  const NetworkSpec& network = fabric.cluster().network;
  const auto nics = static_cast<double>(fabric.nics());
  NetworkParts parts;
  parts.cables = nics;
  if (fabric.leaves() == 0) {
    parts.leaves = 1;
    parts.leaf_ports = nics;
    return parts;
  }
  parts.leaves = static_cast<double>(fabric.leaves());
  const bool above = fabric.leaves() > 1;
  const double up = above ? std::ceil(uplinks(network)) : 0;
  parts.leaf_ports = static_cast<double>(network.leaf_ports) + up;
  const double trunks = parts.leaves * up;
  const double core = fabric.pods() > 1 ? std::ceil(trunks / network.pod_oversubscription) : 0;
  parts.cables += trunks + core;
  parts.spines = on_ports(trunks + core, ports);
  parts.core = on_ports(core, ports);
  return parts;
}

Bill bill_of(const Fabric& fabric) {
  const ClusterSpec& cluster = fabric.cluster();
  expects(cluster.costs.has_value(), "the cluster has costs");
  const CostSpec& costs = *cluster.costs;
  Bill bill;
  bill.facility = costs.facility;
  const auto add = [&](const char* part, const CostItem& item, double count) {
    count = item.count.value_or(count);
    if (count > 0) bill.rows.push_back({part, count, item.price, item.power});
  };
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
  const double written_off = bill.price() * (seconds / costs.amortisation);
  const double energy = joules + bill.power() * seconds.value();
  return written_off + energy / joules_per_kilowatt_hour * costs.electricity;
}

}  // namespace stepcast
