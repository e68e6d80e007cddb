#include "plan_cost.hpp"

#include <fmt/format.h>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr double million = 1e6;
constexpr std::size_t most_rows = 20;

double tokens_of(const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  return static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
}

}  // namespace

std::optional<double> cost_rate(const Scenario& scenario) {
  if (!scenario.cluster.costs) return {};
  return least_cost_rate(scenario) / tokens_of(scenario);
}

std::string cost_line(const std::optional<StepCost>& cost) {
  if (!cost) return {};
  return "\n" + shortest(cost->step / *cost->tokens) + " " + shortest(cost->joules / *cost->tokens);
}

std::optional<PlanCost> read_cost(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return {};
  return PlanCost{parse_number(line.substr(0, space)).value_or(0),
                  parse_number(line.substr(space + 1)).value_or(0)};
}

std::string money_text(const PlanSpace& space, const PlanPoint& point) {
  const auto& costs = space.bases[point.strategy.base].scenario.cluster.costs;
  return fmt::format("{:.4g} {}", point.cost->token * million, costs->currency);
}

std::string cost_table(const PlanSpace& space, const PlanResult& result) {
  if (space.spec.objective != PlanSpec::Objective::cost) return {};
  std::string text = "\n  per million tokens: cost, energy; the best first\n";
  for (std::size_t i = 0; i < std::min(most_rows, result.best.size()); ++i) {
    const PlanPoint& p = result.best[i];
    text += fmt::format("  {:>13} {:>10.4g} MJ  {}\n", money_text(space, p), p.cost->joules,
                        strategy_text(space, p.strategy));
  }
  return text;
}

}  // namespace stepcast
