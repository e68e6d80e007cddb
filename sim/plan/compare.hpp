#pragma once
#include "stepcast/sim/plan/plan.hpp"

/// The winner of a plan against a configuration that is known, part by part.
namespace stepcast {

/// Runs the baseline of the plan and the winner. Nothing without a baseline. Throws InputError
/// where the baseline's file is wrong.
std::optional<PlanComparison> compare_with_baseline(const PlanSpace& space, const PlanPoint& winner,
                                                    const SearchPath& search, int workers);

}  // namespace stepcast
