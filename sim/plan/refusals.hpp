#pragma once
#include "stepcast/base/section.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// Private to plan/.
namespace stepcast {

/// Reports what a plan cannot have, at its place in the scenario `root` or in its `plan`.
void refuse_what_is_not_searched(const PlanSpace& space, const Node& root, const Node& plan,
                                 Reading& reading);

}  // namespace stepcast
