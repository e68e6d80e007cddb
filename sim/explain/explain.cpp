#include "stepcast/sim/explain/explain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/step_key.hpp"
#include "stepcast/sim/report/report.hpp"
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

/// The scenario with as many tokens for each expert; nothing where they are even already.
std::optional<Scenario> with_balanced_experts(const Scenario& scenario) {
  Scenario balanced = scenario;
  MoeSpec& moe = balanced.workload.moe;
  moe.routing = with_even_loads(moe.routing);
  moe.spare_experts = 0;  // even loads need no copies
  moe.relocation = {};
  if (moe.routing.distribution == scenario.workload.moe.routing.distribution) return {};
  return balanced;
}

double step_time(const Scenario& scenario, const LayerTable& layers) {
  Ideal same_cut;
  same_cut.layers = &layers;
  return forecast(scenario, same_cut).step_time.value();
}

/// The step that variants are held against. Half of a cluster's numbers are of kernels that a model
/// does not run, and their variants are this very step.
KnownStep own_step(const Scenario& scenario, const LayerTable& layers, int workers) {
  KnownStep own{step_key(scenario, layers)};
  Variants alone;
  alone.add([&] { return step_time(scenario, layers); });
  begin_phase("running the step alone");
  alone.run(workers);
  own.time = Seconds{alone.time(0).value()};
  return own;
}

/// Each parameter with more and with less of it.
class Pairs {
 public:
  Pairs(Variants& variants, const Scenario& scenario, const LayerTable& layers,
        const KnownStep& own)
      : variants_(variants), parameters_(parameters(scenario)) {
    for (const Parameter& p : parameters_) {
      const auto with = [&](double factor) {
        return variants_.add([&, factor]() -> std::optional<double> {
          const std::optional<Scenario> changed = varied(scenario, p, factor);
          if (!changed) return {};
          return step_time_beside(own, *changed, layers).value();
        });
      };
      const std::size_t up = with(more);
      runs_.emplace_back(up, with(less));
    }
  }

  /// Once the variants have run; the largest elasticity first.
  void add_elasticities(Explanation& result) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::optional<double> up = variants_.time(runs_[i].first);
      const std::optional<double> down = variants_.time(runs_[i].second);
      if (!up && !down) continue;
      const double range = (up ? std::log(more) : 0) - (down ? std::log(less) : 0);
      const double change =
          std::log(up.value_or(result.step_time) / down.value_or(result.step_time));
      const Parameter& p = parameters_[i];
      result.elasticities.push_back({p, change / range});
      if (p.nature == Parameter::Nature::time) result.time_sum += change / range;
      if (p.nature == Parameter::Nature::rate) result.time_sum -= change / range;
    }
    std::ranges::stable_sort(result.elasticities, [](const Elasticity& a, const Elasticity& b) {
      return std::abs(a.value) > std::abs(b.value);
    });
  }

 private:
  Variants& variants_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<std::size_t, std::size_t>> runs_;  // with more and less of each
};

}  // namespace

Explanation explain(const Scenario& scenario, int workers) {
  // Another cut of the layers would be another plan: its jump is no derivative.
  const LayerTable layers = layers_of(scenario);
  const KeptNetwork network(scenario, layers);
  const KnownStep own = own_step(scenario, layers, workers);
  Variants variants;
  const Pairs pairs(variants, scenario, layers, own);
  std::vector<std::pair<std::string, std::size_t>> bounds;
  for (const auto& [name, ideal] : ideals()) {
    bounds.emplace_back(name, variants.add([&, ideal = ideal] {
      return forecast(scenario, ideal).step_time.value();
    }));
  }
  if (const std::optional<Scenario> balanced = with_balanced_experts(scenario))
    bounds.emplace_back("experts balanced",
                        variants.add([&, s = *balanced] { return step_time(s, layers); }));
  begin_phase("running variants");
  variants.run(workers);

  Explanation result;
  result.step_time = own.time.value();
  pairs.add_elasticities(result);
  for (const auto& [name, run] : bounds)
    result.bounds.push_back({name, variants.time(run).value()});
  const RecordedRun run = record(scenario);
  result.headline = verdict(run.forecast);
  result.path = critical_path(run);
  return result;
}

}  // namespace stepcast
