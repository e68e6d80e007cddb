#pragma once
#include <optional>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/topology/bill.hpp"

/// What a step costs, from the prices of a cluster. Model: docs/models/costs.md.
namespace stepcast {

/// Price of one step in the currency of the cluster, and its energy [J].
struct StepCost {
  double step = 0;  ///< [currency]
  double joules = 0;
  std::optional<double> tokens;  ///< of the step; nothing for a synthetic workload
};
/// Nothing where the cluster has no prices.
std::optional<StepCost> step_cost(const Scenario& scenario, const Forecast& forecast);

/// The devices together take at least this [W]; 0 where their power is not known.
double least_power(const Scenario& scenario);

/// A step of the scenario costs at least this for each second that it takes [currency/s].
double least_cost_rate(const Scenario& scenario);

}  // namespace stepcast
