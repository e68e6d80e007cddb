#pragma once
#include "stepcast/topology/cluster_spec.hpp"

/// Keys of a cluster file about what changes while it works. Private to topology/.
namespace stepcast {

/// `network.routing` and what belongs to it.
void describe_routing(Visitor& visitor, NetworkSpec& spec);
/// `device.idle_clock`, `device.power_cap` and `device.power`.
void describe_states(Visitor& visitor, DeviceSpec& spec);
/// `fleet`.
void describe_fleet(Visitor& visitor, std::optional<FleetSpec>& spec);
/// `costs`.
void describe_costs(Visitor& visitor, std::optional<CostSpec>& spec);

}  // namespace stepcast
