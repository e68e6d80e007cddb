#include "ways_to_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t ways_named = 2;

std::string setting_text(const char* key, std::int64_t value) {
  return fmt::format("{}={}", key, value);
}

/// Changes that make a step smaller, one key each; what is not allowed is found by trying.
std::vector<std::string> smaller_steps(const Scenario& scenario) {
  using Recompute = TrainingSpec::Recompute;
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  std::vector<std::string> all;
  if (training.recompute == Recompute::none) all.emplace_back("training.recompute=selective");
  if (training.recompute != Recompute::full) all.emplace_back("training.recompute=full");
  for (std::int64_t zero = plan.zero + 1; zero <= 3; ++zero)
    all.push_back(setting_text("parallel.zero", zero));
  if (training.micro_batch % 2 == 0)
    all.push_back(setting_text("training.micro_batch", training.micro_batch / 2));
  // Twice as many may not be enough; tensor ranks stay inside a node.
  for (std::int64_t tp = 2 * plan.tp; tp <= scenario.cluster.node_devices; tp *= 2)
    all.push_back(setting_text("parallel.tp", tp));
  for (const std::int64_t pp : {2 * plan.pp, 4 * plan.pp})
    all.push_back(setting_text("parallel.pp", pp));
  if (scenario.workload.model.moe) all.push_back(setting_text("parallel.ep", 2 * plan.ep));
  if (!plan.sequence_parallel && plan.tp > 1) all.emplace_back("parallel.sequence_parallel=true");
  return all;
}

std::string tried_text(const RunOptions& options, const std::vector<std::string>& settings) {
  std::vector<std::string> overrides = options.overrides, unused;
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  const Scenario scenario = scenario_option(options.scenario, overrides, options.launch,
                                            default_search_path(options.presets), unused);
  // Settings that are refused throw here and are no way to fit.
  const Forecast result = forecast(scenario);
  double peak = 0;
  for (const StageForecast& stage : result.stages)
    if (stage.memory) peak = std::max(peak, stage.memory->peak().value());
  if (!result.fits_memory()) return "-";
  return shortest(result.step_time.value()) + " " + shortest(peak);
}

/// Those that fit, the fastest first.
std::vector<WayToFit> tried(const RunOptions& options,
                            const std::vector<std::vector<std::string>>& changes) {
  std::vector<WayToFit> ways;
  const auto job = [&](std::size_t i) -> std::string {
    try {
      return tried_text(options, changes[i]);
    } catch (const InputError&) {  // not allowed here
      return "-";
    }
  };
  run_in_workers(changes.size(), jobs_option(options.jobs), job, [&](const WorkerAnswer& answer) {
    if (answer.failed()) return;
    std::istringstream text(answer.text);
    std::string step, peak;
    if (!(text >> step >> peak)) return;
    std::string setting;
    for (const std::string& one : changes[answer.index])
      setting += (setting.empty() ? "" : " --set ") + one;
    ways.push_back({std::move(setting), *parse_number(step), *parse_number(peak)});
  });
  std::ranges::stable_sort(ways, {}, &WayToFit::step_time);
  if (ways.size() > ways_named) ways.resize(ways_named);
  return ways;
}

}  // namespace

std::vector<WayToFit> ways_to_fit(const RunOptions& options, const Scenario& scenario) {
  if (scenario.synthetic || options.scenario == "-") return {};
  const std::vector<std::string> single = smaller_steps(scenario);
  std::vector<std::vector<std::string>> changes;
  changes.reserve(single.size());
  // Single changes first: whoever reads the answer wants the smallest one.
  for (const std::string& one : single) changes.push_back({one});
  if (std::vector<WayToFit> ways = tried(options, changes); !ways.empty()) return ways;
  const auto full = std::ranges::find(single, std::string("training.recompute=full"));
  if (full == single.end()) return {};
  // Full recomputation frees most: it goes with every other change before two sizes change at once.
  changes.clear();
  for (const std::string& other : single)
    if (!other.starts_with("training.recompute")) changes.push_back({*full, other});
  return tried(options, changes);
}

std::string ways_text(const std::vector<WayToFit>& ways, double step_time) {
  if (ways.empty())
    return "  It does not fit with one smaller size or with full recomputation beside it; stepcast "
           "plan searches\n  further.\n";
  std::string text = "  The cheapest ways to fit, tried:\n";
  for (const WayToFit& way : ways)
    text += fmt::format("    --set {:<40} {} ({:+.1f} %), {}\n", way.setting,
                        human(Seconds{way.step_time}), 100 * (way.step_time / step_time - 1),
                        human(Bytes{way.peak}));
  return text;
}

}  // namespace stepcast::cli
