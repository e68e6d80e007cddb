#pragma once
#include <functional>
#include <string>
#include <vector>

#include "answer_store.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// Placement of layers and recomputation for the best points of a search, and their simulation.
namespace stepcast {

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

}  // namespace stepcast
