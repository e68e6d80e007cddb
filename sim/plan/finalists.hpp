#pragma once
#include <functional>
#include <string>
#include <vector>

#include "answer_store.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// Private to plan/.
namespace stepcast {

/// Simulated points with what they take under the stalls of the plan, the one with the
/// least quantile first, of equal ones the one that needs least memory. Jobs are kept in `store`
/// (may be null) under `key`. Throws as `run_seeds`.
std::vector<PlanPoint> run_finalists(const PlanSpace& space, const SearchPath& search, int workers,
                                     std::vector<PlanPoint> points, AnswerStore* store,
                                     const std::function<std::string(const PlanPoint&)>& key);

}  // namespace stepcast
