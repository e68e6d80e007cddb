#pragma once
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {

/// `collectives.cores` of a cluster against the cores of a device. Private to sim/scenario/.
void check_held_cores(const ClusterSpec& cluster, const std::string& prefix, Checks& checks);

}  // namespace stepcast
