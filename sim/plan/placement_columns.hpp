#pragma once
#include "placement.hpp"

/// Exact placement for few chunks: columns of whole stages under fixed periods, chosen by CBC.
/// Method: docs/models/plan.md.
namespace stepcast {

/// The best placement of tables, started from `start`: `optimal` or `infeasible` within the limits;
/// beyond them the best one found, and a bound over all periods that are still open. Nothing when
/// there are too many periods to try, or too many columns.
std::optional<PlacementSolution> place_by_columns(const PlacementProblem& problem,
                                                  const std::optional<PlacedLayers>& start,
                                                  const PlacementLimits& limits);

}  // namespace stepcast
