#pragma once
#include "stepcast/topology/cluster_spec.hpp"

/// Keys of links, NICs and what stands between them.
namespace stepcast {

void describe_link(Visitor& visitor, LinkSpec& spec);
void describe_efficiency(Visitor& visitor, double& target);
void describe_switch(Visitor& visitor, SwitchFabric& spec);
void describe_super_node(Visitor& visitor, SuperNodeSpec& spec);
void describe_network(Visitor& visitor, NetworkSpec& spec);

}  // namespace stepcast
