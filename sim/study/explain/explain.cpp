#include "stepcast/sim/study/explain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/kept_network.hpp"
#include "stepcast/sim/forecast/step_key.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

constexpr double more = 1.01, less = 0.99;

/// Step times of many variants, each run in a process of its own; nothing for a variant that is
/// no scenario.
class Variants {
 public:
  using Run = std::function<std::optional<double>()>;
  std::size_t add(Run run) {
    runs_.push_back(std::move(run));
    return runs_.size() - 1;
  }
  void run(int workers) {
    times_.resize(runs_.size());
    run_in_workers(
        runs_.size(), workers,
        [&](std::size_t i) {
          const std::optional<double> time = runs_[i]();
          return time ? shortest(*time) : std::string{};
        },
        [&](const WorkerAnswer& answer) {
          if (answer.failed()) throw_failure("a run of explain failed", answer);
          times_[answer.index] = parse_number(answer.text);
        });
  }
  std::optional<double> time(std::size_t i) const { return times_[i]; }

 private:
  std::vector<Run> runs_;
  std::vector<std::optional<double>> times_;
};

std::vector<std::pair<std::string, Ideal>> ideals() {
  Ideal communication, host, bubble;
  communication.free_communication = true;
  host.free_host = true;
  bubble.no_bubble = true;
  return {{"communication free", communication}, {"host free", host}, {"no bubble", bubble}};
}

}  // namespace

Explanation explain(const Scenario& scenario, int workers) {
  // Another cut of the layers would be another plan: its jump is no derivative.
  const LayerTable layers = layers_of(scenario);
  const KeptNetwork network(scenario, layers);
  const auto step_time = [&](const Scenario& s) {
    Ideal same_cut;
    same_cut.layers = &layers;
    return forecast(s, same_cut).step_time.value();
  };
  // Half of a cluster's numbers are of kernels that a model does not run.
  KnownStep own{step_key(scenario, layers)};
  Variants alone;
  alone.add([&] { return step_time(scenario); });
  begin_phase("running the step alone");
  alone.run(workers);
  own.time = Seconds{alone.time(0).value()};
  Variants variants;
  const std::vector<Parameter> all = parameters(scenario);
  std::vector<std::pair<std::size_t, std::size_t>> runs;  // with more and less of each
  for (const Parameter& p : all) {
    const auto with = [&](double factor) {
      return variants.add([&, factor]() -> std::optional<double> {
        const std::optional<Scenario> changed = varied(scenario, p, factor);
        if (!changed) return {};
        return step_time_beside(own, *changed, layers).value();
      });
    };
    const std::size_t up = with(more);
    runs.emplace_back(up, with(less));
  }
  std::vector<std::pair<std::string, std::size_t>> bounds;
  for (const auto& [name, ideal] : ideals()) {
    bounds.emplace_back(name, variants.add([&, ideal = ideal] {
      return forecast(scenario, ideal).step_time.value();
    }));
  }
  Scenario balanced = scenario;
  balanced.workload.moe.routing = with_even_loads(balanced.workload.moe.routing);
  balanced.workload.moe.spare_experts = 0;  // even loads need no copies
  balanced.workload.moe.relocation = {};
  const bool uneven =
      scenario.workload.moe.routing.distribution != balanced.workload.moe.routing.distribution;
  if (uneven)
    bounds.emplace_back("experts balanced", variants.add([&] { return step_time(balanced); }));
  begin_phase("running variants");
  variants.run(workers);

  Explanation result;
  result.step_time = own.time.value();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<double> up = variants.time(runs[i].first);
    const std::optional<double> down = variants.time(runs[i].second);
    if (!up && !down) continue;
    const double range = (up ? std::log(more) : 0) - (down ? std::log(less) : 0);
    const double change = std::log(up.value_or(result.step_time) / down.value_or(result.step_time));
    result.elasticities.push_back({all[i], change / range});
    if (all[i].nature == Parameter::Nature::time) result.time_sum += change / range;
    if (all[i].nature == Parameter::Nature::rate) result.time_sum -= change / range;
  }
  std::ranges::stable_sort(result.elasticities, [](const Elasticity& a, const Elasticity& b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  for (const auto& [name, run] : bounds)
    result.bounds.push_back({name, variants.time(run).value()});
  result.path = critical_path(record(scenario));
  return result;
}

}  // namespace stepcast
