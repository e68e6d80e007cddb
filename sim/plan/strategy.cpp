#include <algorithm>
#include <numeric>
#include <type_traits>

#include "rules.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
/// The reader's cross-checks would cost more than the point itself, and the rules have made them.
Scenario scenario_of(const PlanSpace& space, const Strategy& strategy,
                     const std::optional<PlanPlacement>& placement) {
  Scenario scenario = space.bases.at(strategy.base).scenario;
  ParallelPlan& plan = scenario.workload.plan;
  take_sizes(plan, strategy, scenario.cluster.devices);
  scenario.workload.training.micro_batch = strategy.micro_batch;
  scenario.schedule.pipeline = space.dimensions.schedules.at(strategy.schedule);
  place_chunks(scenario);
  cut_expert_groups(scenario);
  if (placement) {
    plan.layers = ParallelPlan::Layers::table;
    plan.layers_per_chunk = placement->layers;
    scenario.workload.training.recompute = TrainingSpec::Recompute::table;
    scenario.workload.training.recompute_layers = placement->recomputed;
  }
  return scenario;
}

/// The order is fixed, so that the same winner is written with the same bytes.
std::vector<std::string> settings_of(const PlanSpace& space, const Strategy& strategy,
                                     const std::optional<PlanPlacement>& placement) {
  const auto number = [](const char* path, std::int64_t value) {
    return std::string(path) + "=" + std::to_string(value);
  };
  std::vector<std::string> settings;
  for (const auto& [path, value] : space.neutral)
    settings.emplace_back(path).append("=").append(value);
  const std::string sizes[] = {
      number("parallel.tp", strategy.tp),
      number("parallel.pp", strategy.pp),
      number("parallel.vpp", strategy.vpp),
      number("parallel.cp", strategy.cp),
      number("parallel.ep", strategy.ep),
      number("parallel.etp", strategy.etp),
      number("parallel.zero", strategy.zero),
      std::string("parallel.sequence_parallel=") + (strategy.sequence_parallel ? "true" : "false"),
      number("training.micro_batch", strategy.micro_batch),
      "schedule.pipeline=" + space.dimensions.schedules.at(strategy.schedule)};
  settings.insert(settings.end(), std::begin(sizes), std::end(sizes));
  for (const auto& [path, value] : space.bases.at(strategy.base).settings)
    settings.emplace_back(path).append("=").append(value);
  if (placement) {
    settings.push_back("parallel.layers_per_chunk=" + table_text(placement->layers));
    settings.push_back("training.recompute=" + table_text(placement->recomputed));
  }
  // The winner is a scenario: what was searched is not part of it.
  settings.emplace_back("plan=none");
  return settings;
}

/// A scenario of a launch file with the keys of a point.
ScenarioDocument with_settings(ScenarioDocument document, const std::vector<std::string>& settings,
                               const SearchPath& search) {
  std::vector<Diagnostic> wrong;
  apply_overrides(document.root, settings, search, wrong);
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return document;
}

Scenario read_point(const PlanSpace& space, const PlanPoint& point, const SearchPath& search) {
  std::vector<std::string> settings = space.overrides;
  for (std::string& setting : settings_of(space, point.strategy, point.placement))
    settings.push_back(setting);
  Scenario scenario = space.launched
                          ? prepare_scenario(with_settings(*space.launched, settings, search),
                                             search, IdleAlgorithms::kept)
                          : prepare_scenario(space.file, settings, search, IdleAlgorithms::kept);
  // Finalists meet the plan's stalls; what the framework's code waits for is in every run.
  if (space.spec.seeds > 0) scenario.stalls = {.host_sync = scenario.stalls.host_sync};
  return scenario;
}

/// One key at a time changes, so that the answer also says that no single change helps.
std::vector<Strategy> neighbours(const PlanSpace& space, const Strategy& strategy) {
  std::vector<Strategy> all;
  const PlanDimensions& dims = space.dimensions;
  const auto vary = [&](const std::vector<std::int64_t>& values, auto member) {
    for (const std::int64_t value : values) {
      Strategy s = strategy;
      s.*member = static_cast<std::remove_reference_t<decltype(s.*member)>>(value);
      if (s != strategy) all.push_back(s);
    }
  };
  vary(dims.tp, &Strategy::tp);
  vary(dims.pp, &Strategy::pp);
  vary(dims.vpp, &Strategy::vpp);
  vary(dims.cp, &Strategy::cp);
  vary(dims.ep, &Strategy::ep);
  vary(dims.etp, &Strategy::etp);
  vary(dims.zero, &Strategy::zero);
  vary(dims.micro_batch, &Strategy::micro_batch);
  vary(dims.sequence_parallel, &Strategy::sequence_parallel);
  std::vector<std::int64_t> schedules(dims.schedules.size()), bases(space.plain_bases);
  std::iota(schedules.begin(), schedules.end(), 0);
  std::iota(bases.begin(), bases.end(), 0);
  vary(schedules, &Strategy::schedule);
  vary(bases, &Strategy::base);
  // The base follows from the point, which can lead back to the one at hand.
  for (Strategy& s : all) s.base = space.base_of(s);
  std::erase(all, strategy);
  return all;
}

namespace {

bool searches_recompute(const PlanSpace& space, const Strategy& strategy) {
  return std::ranges::any_of(space.bases.at(strategy.base).settings, [](const auto& setting) {
    return setting.first == "training.recompute";
  });
}

}  // namespace

/// What is recomputed decides about memory and time, so that it is said even where the plan leaves
/// no choice.
std::string strategy_text(const PlanSpace& space, const Strategy& strategy,
                          const std::optional<PlanPlacement>& placement) {
  const auto part = [](const char* key, std::int64_t value) {
    return value == 1 ? std::string{} : " " + std::string(key) + std::to_string(value);
  };
  std::string text = "tp" + std::to_string(strategy.tp) + " pp" + std::to_string(strategy.pp);
  text += part("vpp", strategy.vpp) + part("cp", strategy.cp) + part("ep", strategy.ep) +
          part("etp", strategy.etp);
  text += " mb" + std::to_string(strategy.micro_batch) + " zero" + std::to_string(strategy.zero);
  if (strategy.sequence_parallel) text += " sp";
  if (space.dimensions.schedules.size() > 1)
    text += " " + space.dimensions.schedules.at(strategy.schedule);
  if (!placement && !searches_recompute(space, strategy))
    text += std::string(" recompute=") +
            name(space.bases.at(strategy.base).scenario.workload.training.recompute);
  for (const auto& [path, value] : space.bases.at(strategy.base).settings)
    if (!placement || path != "training.recompute")
      text += " " + path.substr(path.rfind('.') + 1) + "=" + value;
  if (!placement) return text;
  const auto sum = [](const Table& table) {
    std::int64_t all = 0;
    for (const auto& row : table) all = std::accumulate(row.begin(), row.end(), all);
    return std::to_string(all);
  };
  return text + " recompute=" + sum(placement->recomputed) + "/" + sum(placement->layers);
}

}  // namespace stepcast
