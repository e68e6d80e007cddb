#include <algorithm>
#include <sstream>

#include "search_steps.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/explain/check.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"

namespace stepcast {
namespace {

/// Compute stream behind the last unit: gradient norm and optimizer, on the mean stage [s].
double optimizer_time(const Scenario& scenario) {
  double sum = 0;
  const std::vector<StageProgram> programs = stage_programs(scenario, layers_of(scenario));
  for (const StageProgram& program : programs)
    for (const Instruction& instruction : program.epilogue)
      if (const auto* run = std::get_if<Compute>(&instruction))
        sum += program.segments[run->segment].device_time();
  return sum / static_cast<double>(programs.size());
}

/// A baseline is no point of the space, so that it is described by its values.
std::string text_of(const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  std::string text;
  const auto add = [&](const char* key, std::int64_t value, bool always = false) {
    if (always || value != 1)
      text += (text.empty() ? "" : " ") + std::string(key) + std::to_string(value);
  };
  add("tp", plan.tp, true), add("pp", plan.pp, true), add("vpp", plan.vpp), add("cp", plan.cp);
  add("ep", plan.ep), add("etp", plan.etp), add("mb", training.micro_batch, true);
  add("zero", plan.zero, true);
  text += std::string(plan.sequence_parallel ? " sp " : " ") + scenario.schedule.name();
  return text + " recompute=" + name(training.recompute);
}

/// Strategy, devices, tokens, time, peak, then the parts, a line each.
std::string run_text(const Scenario& scenario) {
  const Forecast result = forecast(scenario);
  double peak = 0;
  for (const StageForecast& stage : result.stages)
    if (stage.memory) peak = std::max(peak, stage.memory->peak().value());
  const TrainingSpec& training = scenario.workload.training;
  std::vector<double> parts = breakdown_of(result);
  // The optimizer is part of computing in a forecast and told apart here.
  const double optimizer = std::min(optimizer_time(scenario), parts.front());
  parts.front() -= optimizer;
  parts.push_back(optimizer);
  std::string text = text_of(scenario) + "\n" + std::to_string(scenario.cluster.devices) + "\n" +
                     std::to_string(training.global_batch * training.sequence) + "\n" +
                     shortest(result.step_time.value()) + "\n" + shortest(peak);
  for (const double part : parts) text += "\n" + shortest(part);
  return text;
}

PlanRun read_run(const std::string& text) {
  PlanRun run;
  // A worker answers with text alone, so the lines come in the order of run_text(); the parts are
  // last because their number is not written.
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, run.strategy);
  const auto number = [&] {
    std::getline(lines, line);
    return parse_number(line).value_or(0);
  };
  run.devices = static_cast<std::int64_t>(number());
  run.tokens = number();
  run.step_time = Seconds{number()};
  run.peak = Bytes{number()};
  while (std::getline(lines, line)) run.parts.push_back(parse_number(line).value_or(0));
  return run;
}

}  // namespace

const std::vector<std::string>& plan_part_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = breakdown_names();
    all.emplace_back("optimizer");
    return all;
  }();
  return names;
}

/// Per token and device, because the winner may have another batch or another number of devices.
std::vector<double> PlanComparison::differences() const {
  const auto cost = [](const PlanRun& run) {
    return static_cast<double>(run.devices) / run.tokens;
  };
  const double scale = cost(winner) / cost(baseline), whole = baseline.step_time.value();
  // Tokens and devices of both sides may differ: times are put on the baseline's scale.
  std::vector<double> result;
  for (std::size_t i = 0; i < baseline.parts.size(); ++i)
    result.push_back((winner.parts[i] * scale - baseline.parts[i]) / whole);
  return result;
}

double PlanComparison::difference() const {
  double sum = 0;
  for (const double part : differences()) sum += part;
  return sum;
}

/// Both sides run in processes of their own, since a process makes one run.
std::optional<PlanComparison> compare_with_baseline(const PlanSpace& space, const PlanPoint& winner,
                                                    const SearchPath& search, int workers) {
  if (space.baseline.empty()) return {};
  Scenario scenarios[] = {prepare_scenario(space.baseline, {}, search),
                          read_point(space, winner, search)};
  // Stalls are drawn for finalists alone: the comparison is of the intact cluster.
  if (space.spec.seeds > 0)
    scenarios[0].stalls = {
        .host_sync = scenarios[0].stalls.host_sync};  // as the winner, whose stalls are drawn apart
  PlanComparison comparison{space.spec.baseline, {}, {}};
  run_in_workers(
      2, workers, [&](std::size_t i) { return run_text(scenarios[i]); },
      [&](const WorkerAnswer& answer) {
        if (answer.failed()) throw_failure("the baseline could not be run", answer);
        (answer.index == 0 ? comparison.baseline : comparison.winner) = read_run(answer.text);
      });
  return comparison;
}

}  // namespace stepcast
