#pragma once
#include <limits>

#include "estimate.hpp"
#include "plan_cost.hpp"
#include "rules.hpp"

/// The whole space by arithmetic: branch and bound over families of points.
namespace stepcast {

/// What is known of a base whatever the point.
struct BaseCosts {
  explicit BaseCosts(const PlanBase& base)
      : times{base.scenario.cluster, base.scenario.workload.communication.algorithms},
        tokens{tokens_of(base.scenario)},
        cost_rate{stepcast::cost_rate(base.scenario).value_or(0)},
        energy_rate{stepcast::energy_rate(base.scenario).value_or(0)} {}
  CollectiveTimes times;
  double tokens, cost_rate, energy_rate;  ///< of a PlanPoint
  IdleTable idle;
  struct Sized {
    LayerCosts costs;
    LayerEnds ends;
    ChunkBytes chunks;
  };
  std::map<std::array<std::int64_t, 8>, Sized> layers;  ///< by what changes a layer
  std::map<std::array<std::int64_t, 4>, std::array<PieceCost, plan_pieces>> parameters;
  std::map<std::int64_t, double> slowest;  ///< least_slowest() by devices of a stage
};

struct Enumeration {
  std::vector<PlanPoint> kept;  ///< by score of the estimate
  PlanCounts counts;
  /// Score of the bound below which every point is kept.
  PlanScore dropped_bound{std::numeric_limits<double>::infinity()};
  std::optional<PlanPoint> nearest;  ///< that memory alone refuses, the least excess
  std::vector<PlanPoint> refused;    ///< by memory alone, those with the least bounds
};

/// Keeps the points with the best estimates, at most spec.shortlist; with `pareto` all of them.
Enumeration enumerate(const PlanSpace& space, std::vector<BaseCosts>& costs);

/// Keeps the points with the least bounds below the score `limit`, at most `most`.
Enumeration enumerate_below(const PlanSpace& space, std::vector<BaseCosts>& costs, PlanScore limit,
                            std::size_t most);

/// One point by itself; nothing where a rule or the memory refuses it.
std::optional<PlanPoint> estimate_point(const PlanSpace& space, std::vector<BaseCosts>& costs,
                                        const Strategy& strategy);

/// Estimates every point of the space and keeps none; how many there were. For benchmarks.
double estimate_all(const PlanSpace& space, std::vector<BaseCosts>& costs);

}  // namespace stepcast
