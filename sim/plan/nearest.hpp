#pragma once
#include "stepcast/sim/plan/plan.hpp"

/// What to say when nothing of a space is feasible.
namespace stepcast {

/// The feasible point that is nearest to the space: a constraint of `plan.constraints` is dropped,
/// or one key may leave its list, or, where that is not enough, all of them. Other keys keep their
/// values. Nothing when no point at all can run.
std::optional<PlanRelaxation> nearest_feasible(const PlanSpace& space);

}  // namespace stepcast
