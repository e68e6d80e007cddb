#pragma once
#include <string>

#include "stepcast/sim/forecast/step_cost.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// Money and energy in a plan. Private to sim/plan/. Method: docs/models/costs.md.
namespace stepcast {

/// The least price of a second over the tokens of a step; nothing without prices.
std::optional<double> cost_rate(const Scenario& scenario);
/// The least energy of a second over the tokens of a step [J]; nothing where devices have no power.
std::optional<double> energy_rate(const Scenario& scenario);
/// Of a step; 0 of a synthetic workload.
double tokens_of(const Scenario& scenario);
/// A line for the process that asked, and what it says; empty without prices.
std::string cost_line(const std::optional<StepCost>& cost);
std::optional<PlanCost> read_cost(const std::string& line);
/// Likewise the energy of a token; empty where devices have no power.
std::string energy_line(const Scenario& scenario, const Forecast& forecast);
std::optional<double> read_energy(const std::string& line);

/// Whether the plan looks at it: as its objective or on its frontier.
bool looks_at(const PlanSpec& spec, PlanMeasure measure);
/// A value as people read it; `-` where it is not known.
std::string measure_text(const PlanSpace& space, PlanMeasure measure, const PlanPoint& point);
/// What a plan of other objectives than time and memory prints beside its times.
std::string cost_table(const PlanSpace& space, const PlanResult& result);
/// `12.3 per million tokens`, of a point that was simulated.
std::string money_text(const PlanSpace& space, const PlanPoint& point);

}  // namespace stepcast
