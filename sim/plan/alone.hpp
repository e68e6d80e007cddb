#pragma once
#include "collective_times.hpp"
#include "stepcast/sim/network_map.hpp"
#include "stepcast/sim/scenario.hpp"

/// One step as if nothing shared a link: the first rank of each stage, its collectives at their
/// time alone.
namespace stepcast {

/// The map of such a step: one class per stage, no flow on a link that others use.
NetworkMap map_without_contention(const Placement& placement,
                                  const std::vector<StageProgram>& programs,
                                  CollectiveTimes& times);

/// Step time of a checked scenario without contention. Never above forecast()'s: every wait of the
/// first ranks is there, each for the least time that it can take (docs/models/plan.md).
Seconds step_alone(const Scenario& scenario, CollectiveTimes& times);

}  // namespace stepcast
