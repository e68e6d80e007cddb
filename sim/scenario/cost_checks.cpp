#include "cost_checks.hpp"

#include "stepcast/base/text.hpp"
#include "stepcast/topology/bill.hpp"

namespace stepcast {
namespace {

/// Switches are counted from the fabric, which has to be possible where they cost anything.
void check_switches(const ClusterSpec& cluster, const std::string& key, Checks& checks) {
  const CostSpec& costs = *cluster.costs;
  const bool priced = !costs.network_switch.free();
  if (!checks.good({key + "switch"}) || cluster.network.platform) return;
  const NetworkParts parts = network_parts(Fabric(cluster), costs.switch_ports);
  const bool known = costs.switch_ports > 0;
  const bool alone = parts.leaves <= static_cast<double>(cluster.network.nic.planes);
  checks.require(known || !priced || alone, key + "switch.ports",
                 "is 0, so that the switches above " + shortest(parts.leaves) +
                     " leaves cannot be counted, allowed: the ports of a switch");
  checks.require(
      !known || parts.leaf_ports <= static_cast<double>(costs.switch_ports), key + "switch.ports",
      "is " + count_text(costs.switch_ports) + ", but a switch with NICs needs " +
          shortest(parts.leaf_ports) +
          " (leaf_ports and their uplinks, or all NICs of a single switch), allowed: at least "
          "those");
}

/// Whether the fabric can be asked: its sizes read well and fit each other.
bool fabric_is_whole(const std::string& prefix, const Checks& checks) {
  return checks.good({prefix + "devices", prefix + "node.devices", prefix + "node.fabric"}) &&
         checks.good_below(prefix + "node.fabric") && checks.good_below(prefix + "network");
}

}  // namespace

void check_costs(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const std::string key = prefix + "costs.";
  if (!cluster.costs || !checks.good_below(prefix + "costs")) return;
  const CostSpec& costs = *cluster.costs;
  // Prices are of one node, device and NIC; of several kinds a bill would have to say which.
  checks.require(cluster.kinds.empty(), prefix + "costs",
                 "has one price for nodes of several kinds, allowed: none");
  checks.require(!cluster.device.power || costs.device.power == 0, key + "device.power",
                 "is " + shortest(costs.device.power) +
                     " beside device.power, which says it by what the device does, allowed: 0");
  checks.require(cluster.super_node || costs.super_node.free(), key + "super_node",
                 "has a price without super_node, allowed: nothing");
  // Switches are counted from the fabric, which exists only if its own keys are right.
  if (cluster.kinds.empty() && fabric_is_whole(prefix, checks))
    check_switches(cluster, key, checks);
}

}  // namespace stepcast
