#pragma once
#include "stepcast/topology/cluster_spec.hpp"

/// Keys of links, NICs and what stands between them, and of what changes while a cluster works.
/// Private to topology/.
namespace stepcast {

void describe_link(Visitor& visitor, LinkSpec& spec);
void describe_efficiency(Visitor& visitor, double& target);
void describe_switch(Visitor& visitor, SwitchFabric& spec);
void describe_super_node(Visitor& visitor, SuperNodeSpec& spec);
void describe_network(Visitor& visitor, NetworkSpec& spec);

/// `network.routing` and what belongs to it.
void describe_routing(Visitor& visitor, NetworkSpec& spec);
/// `device.idle_clock`, `device.power_cap` and `device.power`.
void describe_states(Visitor& visitor, DeviceSpec& spec);
/// `fleet`.
void describe_fleet(Visitor& visitor, std::optional<FleetSpec>& spec);
/// `costs`.
void describe_costs(Visitor& visitor, std::optional<CostSpec>& spec);

}  // namespace stepcast
