#pragma once
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// The program of every stage of a checked scenario; `layers` counts when it is not
/// synthetic.
std::vector<StageProgram> stage_programs(const Scenario& scenario, const LayerTable& layers);

}  // namespace stepcast
