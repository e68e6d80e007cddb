#pragma once
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {

/// The program of every stage of a checked scenario; `layers` counts when it is not
/// synthetic.
std::vector<StageProgram> stage_programs(const Scenario& scenario, const LayerTable& layers);
/// With loads that are known: step_loads() of the scenario.
std::vector<StageProgram> stage_programs(const Scenario& scenario, const LayerTable& layers,
                                         const LayerLoads& loads);

/// Of its layers; of a scenario of given times those of a model without experts.
LayerLoads step_loads(const Scenario& scenario);

}  // namespace stepcast
