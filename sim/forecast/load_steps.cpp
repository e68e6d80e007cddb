#include "stepcast/sim/forecast/load_steps.hpp"

#include <algorithm>
#include <sstream>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/relocation.hpp"

namespace stepcast {
namespace {

Scenario at_step(Scenario scenario, std::int64_t step) {
  scenario.workload.moe.routing.step = step;
  return scenario;
}

/// The same loads where nobody looks at them.
Scenario without_balance(Scenario scenario) {
  scenario.workload.moe.placement = MoeSpec::Placement::contiguous;
  // What balances is switched off, the drawn loads stay.
  scenario.workload.moe.spare_experts = 0;
  scenario.workload.moe.relocation = {};
  return scenario;
}

Scenario with_loads_alike(const Scenario& scenario) {
  Scenario even = without_balance(scenario);
  even.workload.moe.routing = with_even_loads(std::move(even.workload.moe.routing));
  return even;
}

bool balances(const MoeSpec& moe) {
  return moe.placement != MoeSpec::Placement::contiguous || moe.spare_experts > 0;
}

/// What moves before the step of the scenario, on the stage that takes longest.
struct Move {
  double time = 0, bytes = 0;
};
Move move_before(const Scenario& scenario) {
  const WorkloadSpec& spec = scenario.workload;
  const Placement placement(spec.plan);
  const LayerTable layers = layers_of(scenario);
  CollectiveTimes times{scenario.cluster, spec.communication.algorithms};
  // Each stage moves its own experts, at the same time as the others.
  Move most;
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(spec.plan.pp); ++s) {
    const StageCall call = relocation_call(spec, layers, Stage{s});
    if (call.call.bytes <= Bytes{0}) continue;
    most.time = std::max(most.time, times.alone(placement, call, placement.first_of(Stage{s})));
    most.bytes = std::max(most.bytes, busiest_rank(call, spec.plan.ep).value());
  }
  return most;
}

/// Whether experts are placed anew before that step.
bool relocates(const MoeSpec& moe, std::int64_t step) {
  // Never before the first step of a run: experts are placed when it begins.
  return moe.relocation.every && step > 0 && step % *moe.relocation.every == 0;
}

/// What one step gives, as a worker answers it: its time, the imbalance, what moves before it.
struct StepRun {
  double time = 0, imbalance = 1;
  Move move;
};

std::string text_of(const StepRun& run) {
  // Shortest texts that read back as the same doubles: nothing is lost between processes.
  return shortest(run.time) + " " + shortest(run.imbalance) + " " + shortest(run.move.time) + " " +
         shortest(run.move.bytes);
}

StepRun run_of(const Scenario& scenario) {
  StepRun run;
  run.time = forecast(scenario).step_time.value();
  run.imbalance = layer_loads(scenario.workload).rank_imbalance();
  const MoeSpec& moe = scenario.workload.moe;
  if (relocates(moe, moe.routing.step)) run.move = move_before(scenario);
  return run;
}

std::vector<StepRun> run_all(const std::vector<Scenario>& scenarios, int workers) {
  std::vector<StepRun> runs(scenarios.size());
  run_in_workers(
      scenarios.size(), workers, [&](std::size_t i) { return text_of(run_of(scenarios[i])); },
      [&](const WorkerAnswer& answer) {
        if (answer.failed()) throw_failure("a step of changing loads", answer);
        std::istringstream words(answer.text);
        // Four numbers, as text_of() writes them.
        std::vector<double> numbers;
        for (std::string word; words >> word;) numbers.push_back(parse_number(word).value_or(0));
        runs[answer.index] = {numbers.at(0), numbers.at(1), {numbers.at(2), numbers.at(3)}};
      });
  return runs;
}

std::vector<Scenario> steps_of(const Scenario& scenario, std::int64_t count) {
  std::vector<Scenario> steps;
  for (std::int64_t i = 0; i < count; ++i)
    steps.push_back(at_step(scenario, scenario.workload.moe.routing.step + i));
  return steps;
}

double mean_time(const std::vector<StepRun>& runs) {
  double sum = 0;
  for (const StepRun& run : runs) sum += run.time + run.move.time;
  // What moves before a step delays it.
  return sum / static_cast<double>(runs.size());
}

LoadSteps::Relocation relocation_of(const std::vector<StepRun>& runs, const MoeSpec& moe,
                                    std::int64_t first) {
  LoadSteps::Relocation result;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!relocates(moe, first + static_cast<std::int64_t>(i))) continue;
    // Means over the moves, and per step over all steps.
    ++result.times;
    result.moved += Bytes{runs[i].move.bytes};
    result.time += Seconds{runs[i].move.time};
  }
  result.per_step = result.time / static_cast<double>(runs.size());
  if (result.times == 0) return result;
  result.moved = result.moved / static_cast<double>(result.times);
  result.time = result.time / static_cast<double>(result.times);
  return result;
}

}  // namespace

LoadSteps run_load_steps(const Scenario& scenario, std::int64_t count, int workers) {
  const MoeSpec& moe = scenario.workload.moe;
  // The steps themselves, one with equal loads, then the same steps without balance.
  std::vector<Scenario> asked = steps_of(scenario, count);
  asked.push_back(with_loads_alike(scenario));
  // Without balance there is nothing to compare with.
  if (balances(moe))
    for (const Scenario& skewed : steps_of(without_balance(scenario), count))
      asked.push_back(skewed);
  const std::vector<StepRun> runs = run_all(asked, workers);
  const auto end = runs.begin() + static_cast<std::ptrdiff_t>(count);
  LoadSteps result;
  result.count = count;
  result.first = moe.routing.step;
  std::vector<double> times, imbalances;
  for (auto run = runs.begin(); run != end; ++run) {
    times.push_back(run->time + run->move.time);
    imbalances.push_back(run->imbalance);
  }
  result.step_time = quantiles(times);
  result.rank_imbalance = quantiles(imbalances);
  result.even = Seconds{end->time};
  if (moe.relocation.every)
    result.relocation = relocation_of({runs.begin(), end}, moe, result.first);
  if (balances(moe)) result.skewed = Seconds{mean_time({end + 1, runs.end()})};
  return result;
}

Seconds mean_load_step(const Scenario& scenario, std::int64_t count, int workers) {
  return Seconds{mean_time(run_all(steps_of(scenario, count), workers))};
}

std::int64_t load_steps_left(const Scenario& scenario) {
  const RoutingSpec& routing = scenario.workload.moe.routing;
  // Drawn loads never end; a file has so many rows.
  if (routing.distribution != RoutingSpec::Distribution::file)
    return std::min(most_load_steps, last_routing_step + 1 - routing.step);
  const ModelSpec& model = scenario.workload.model;
  const std::size_t layers =
      routing.layers == RoutingSpec::Layers::own ? count_moe_layers(model) : 1;
  const std::size_t row = static_cast<std::size_t>(model.moe->experts) * layers;
  return static_cast<std::int64_t>(routing.counts.size() / row) - routing.step;
}

}  // namespace stepcast
