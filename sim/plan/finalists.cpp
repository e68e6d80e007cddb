#include <algorithm>
#include <sstream>
#include <tuple>

#include "search_steps.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// First seed, step without stalls, then the steps of the seeds, a line each.
std::string text_of(const SeedRuns& runs) {
  std::string text = std::to_string(runs.first) + "\n" + shortest(runs.calm.value());
  for (const Seconds step : runs.steps) text += "\n" + shortest(step.value());
  return text;
}

SeedRuns runs_of(const std::string& text) {
  SeedRuns runs;
  std::istringstream in(text);
  std::string line;
  // In the order of text_of(); the steps are last because their number is not written.
  const auto number = [&] { return parse_number(line).value_or(0); };
  std::getline(in, line);
  runs.first = static_cast<std::int64_t>(number());
  std::getline(in, line);
  runs.calm = Seconds{number()};
  while (std::getline(in, line)) runs.steps.emplace_back(number());
  return runs;
}

/// As a user's file, stalls and all.
Scenario with_stalls(const PlanSpace& space, const PlanPoint& point, const SearchPath& search) {
  Scenario scenario = read_point(space, point, search);
  const auto wait = scenario.stalls.host_sync;  // of the point's framework
  scenario.stalls = space.stalls;
  scenario.stalls.host_sync = wait;
  return scenario;
}

PlanSeeds judged(const PlanSpec& spec, const Scenario& scenario, const SeedRuns& runs) {
  std::vector<double> steps;
  for (const Seconds step : runs.steps) steps.push_back(step.value());
  const SeedStatistics statistics = seed_statistics(scenario, runs);
  // Nearest rank: one of the steps that were run decides.
  return {.decides = Seconds{nearest_rank(steps, spec.quantile)},
          .first_seed = runs.first,
          .first_step = runs.steps.front(),
          .step_time = statistics.step_time,
          .interval = step_interval(scenario, statistics).both};
}

/// What a token costs or takes grows with the time by the rate of the devices; the work on it
/// stays.
PlanScore score(const PlanSpec& spec, const PlanPoint& point) {
  const Seconds decides = point.seeds->decides;
  // What the stalls add to the simulated step.
  const double later = point.simulated ? (decides - *point.simulated).value() : 0;
  if (spec.objective == PlanSpec::Objective::cost && point.cost && point.simulated)
    return {point.cost->token + point.cost_rate * later};
  if (spec.objective == PlanSpec::Objective::energy && point.energy && point.simulated)
    return {*point.energy + point.energy_rate * later};
  return plan_score(spec, point, decides);
}

}  // namespace

/// One point after the other, because the seeds of each already take all workers.
std::vector<PlanPoint> run_finalists(const PlanSpace& space, const SearchPath& search, int workers,
                                     std::vector<PlanPoint> points, AnswerStore* store,
                                     const std::function<std::string(const PlanPoint&)>& key) {
  for (PlanPoint& point : points) {
    const Scenario scenario = with_stalls(space, point, search);
    const std::string own = key(point);
    std::optional<std::string> text;
    // Runs with all seeds are dear: a store keeps them.
    if (store != nullptr) text = store->find(own);
    if (!text) {
      text = text_of(run_seeds(scenario, space.spec.seeds, workers));
      if (store != nullptr) store->put(own, *text);
    }
    point.seeds = judged(space.spec, scenario, runs_of(*text));
  }
  // Ties by memory, then by the order of simulation.
  std::ranges::stable_sort(
      points, {}, [&](const PlanPoint& p) { return std::tuple(score(space.spec, p), p.peak); });
  return points;
}

}  // namespace stepcast
