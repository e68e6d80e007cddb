#pragma once
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {

/// `costs` of a cluster against the parts that the cluster has. Private to sim/scenario/.
void check_costs(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);

}  // namespace stepcast
