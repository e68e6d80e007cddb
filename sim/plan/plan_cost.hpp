#pragma once
#include <string>

#include "stepcast/sim/forecast/step_cost.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// Money in a plan: objective `cost`. Private to sim/plan/. Method: docs/models/costs.md.
namespace stepcast {

/// The least price of a second over the tokens of a step; nothing without prices.
std::optional<double> cost_rate(const Scenario& scenario);
/// A line for the process that asked, and what it says; empty without prices.
std::string cost_line(const std::optional<StepCost>& cost);
std::optional<PlanCost> read_cost(const std::string& line);

/// What a plan of costs prints beside its times; empty for other plans.
std::string cost_table(const PlanSpace& space, const PlanResult& result);
/// `12.3 per million tokens`, of a point that was simulated.
std::string money_text(const PlanSpace& space, const PlanPoint& point);

}  // namespace stepcast
