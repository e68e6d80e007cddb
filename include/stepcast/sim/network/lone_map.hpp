#pragma once
#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/network/network_map.hpp"

/// One step as if nothing shared a link: the first rank of each stage, its collectives at
/// their time alone.
namespace stepcast {

/// The map of such a step: one class per stage, no flow on a link that others use.
NetworkMap map_without_contention(const Placement& placement,
                                  const std::vector<StageProgram>& programs,
                                  CollectiveTimes& times);

}  // namespace stepcast
