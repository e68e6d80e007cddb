#pragma once
#include "stepcast/sim/scenario/stalls_spec.hpp"
#include "stepcast/topology/fabric.hpp"

namespace stepcast {

/// The links of `degraded_links` and `failed_links`, by their names on the intact fabric.
/// The spec is checked.
LinkFaults link_faults(const StallsSpec& spec, const Fabric& intact);

}  // namespace stepcast
