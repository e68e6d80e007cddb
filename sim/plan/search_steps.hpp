#pragma once
#include <functional>
#include <string>
#include <vector>

#include "answer_store.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// What a search does with its best points. Private to plan/.
namespace stepcast {

/// Simulated points with what they take under the stalls of the plan, the one with the
/// least quantile first, of equal ones the one that needs least memory. Jobs are kept in `store`
/// (may be null) under `key`. Throws as `run_seeds`.
std::vector<PlanPoint> run_finalists(const PlanSpace& space, const SearchPath& search, int workers,
                                     std::vector<PlanPoint> points, AnswerStore* store,
                                     const std::function<std::string(const PlanPoint&)>& key);

// Placement of layers and recomputation for the best points of a search, and their simulation.

/// Whether two points differ in their recompute mode only, which a placement replaces.
bool same_plan(const Strategy& a, const Strategy& b, const PlanSpace& space);

/// Whether the integer programme knows the period of the point: whole backwards one by one, chunks
/// in a loop, nothing on the host.
bool places_layers(const PlanSpace& space, const Strategy& strategy);

/// Simulates one point from its file: step time [s] and bytes of the fullest device, a line each,
/// and with prices a line of what a token costs.
std::string simulated_text(const PlanSpace& space, const PlanPoint& point,
                           const SearchPath& search);
/// Reads that text back.
void read_simulated(std::istream& in, PlanPoint& point);

/// Places and simulates each point; those that fit, by their score. Answers are kept in the store
/// (may be null) under `key`.
std::vector<PlanPoint> place_best(const PlanSpace& space, const SearchPath& search, int workers,
                                  const std::vector<PlanPoint>& points, AnswerStore* store,
                                  const std::function<std::string(const PlanPoint&)>& key);

// The winner of a plan against a configuration that is known, part by part.

/// Runs the baseline of the plan and the winner. Nothing without a baseline. Throws InputError
/// where the baseline's file is wrong.
std::optional<PlanComparison> compare_with_baseline(const PlanSpace& space, const PlanPoint& winner,
                                                    const SearchPath& search, int workers);

// What to say when nothing of a space is feasible.

/// The feasible point that is nearest to the space: a constraint of `plan.constraints` is dropped,
/// or one key may leave its list, or, where that is not enough, all of them. Other keys keep their
/// values. Nothing when no point at all can run.
std::optional<PlanRelaxation> nearest_feasible(const PlanSpace& space);

}  // namespace stepcast
