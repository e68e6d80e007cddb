#include "plan_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr double million = 1e6;
constexpr std::size_t most_priced = 20;
constexpr std::string_view energy_mark = "energy ";

/// One value a line, the best first.
std::string measure_table(const PlanSpace& space, const PlanResult& result, PlanMeasure measure,
                          const char* head) {
  std::string text = std::string("\n  ") + head + "; the best first\n";
  for (std::size_t i = 0; i < std::min(most_priced, result.best.size()); ++i)
    text += fmt::format("  {:>17}  {}\n", measure_text(space, measure, result.best[i]),
                        strategy_text(space, result.best[i].strategy));
  return text;
}

}  // namespace

double tokens_of(const Scenario& scenario) {
  if (scenario.synthetic) return 0;
  const TrainingSpec& training = scenario.workload.training;
  return static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
}

std::optional<double> energy_rate(const Scenario& scenario) {
  if (!scenario.cluster.device.power || scenario.synthetic) return {};
  // At least so much for each second of a step.
  return least_power(scenario) / tokens_of(scenario);
}

std::string energy_line(const Scenario& scenario, const Forecast& forecast) {
  if (!forecast.energy || scenario.synthetic) return {};
  return "\n" + std::string(energy_mark) + shortest(forecast.energy->step() / tokens_of(scenario));
}

std::optional<double> read_energy(const std::string& line) {
  // The mark tells it from a line of cost.
  if (!line.starts_with(energy_mark)) return {};
  return parse_number(line.substr(energy_mark.size()));
}

bool looks_at(const PlanSpec& spec, PlanMeasure measure) {
  using Objective = PlanSpec::Objective;
  const bool objective =
      (spec.objective == Objective::cost && measure == PlanMeasure::cost) ||
      (spec.objective == Objective::energy && measure == PlanMeasure::energy) ||
      (spec.objective == Objective::throughput && measure == PlanMeasure::throughput);
  return objective || std::ranges::count(spec.frontier, std::string(name(measure))) > 0;
}

std::string measure_text(const PlanSpace& space, PlanMeasure measure, const PlanPoint& point) {
  const double value = measured(measure, point);
  // Measures are seconds unless a case below says otherwise; throughput is kept as seconds per
  // token, so that less is better in all of them.
  switch (measure) {
    case PlanMeasure::time:
      break;
    case PlanMeasure::throughput:
      return fmt::format("{:.4g} tokens/s", 1 / value);
    case PlanMeasure::cost:
      return point.cost ? money_text(space, point) : "-";
    case PlanMeasure::energy:
      return point.energy ? fmt::format("{:.4g} J", value) : "-";
    case PlanMeasure::memory:
      return human(point.peak);
    case PlanMeasure::devices:
      return std::to_string(point.devices);
  }
  return human(Seconds{value});
}

std::optional<double> cost_rate(const Scenario& scenario) {
  if (!scenario.cluster.costs) return {};
  // At least so much for each second of a step.
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
  if (space.spec.objective == PlanSpec::Objective::energy)
    return measure_table(space, result, PlanMeasure::energy, "energy of a token");
  if (space.spec.objective == PlanSpec::Objective::throughput)
    return measure_table(space, result, PlanMeasure::throughput, "throughput");
  if (space.spec.objective != PlanSpec::Objective::cost) return {};
  // Only the first rows: prices of the others are in the JSON.
  std::string text = "\n  per million tokens: cost, energy; the best first\n";
  for (std::size_t i = 0; i < std::min(most_priced, result.best.size()); ++i) {
    const PlanPoint& p = result.best[i];
    text += fmt::format("  {:>13} {:>10.4g} MJ  {}\n", money_text(space, p), p.cost->joules,
                        strategy_text(space, p.strategy));
  }
  return text;
}

}  // namespace stepcast
