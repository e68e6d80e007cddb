#include "stepcast/sim/study/explain.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"

namespace stepcast {
namespace {

constexpr double more = 1.01, less = 0.99;

/// Step times of many variants, each run in a process of its own.
class Variants {
 public:
  std::size_t add(std::function<double()> run) {
    runs_.push_back(std::move(run));
    return runs_.size() - 1;
  }
  void run(int workers) {
    times_.resize(runs_.size());
    run_in_workers(
        runs_.size(), workers, [&](std::size_t i) { return shortest(runs_[i]()); },
        [&](const WorkerAnswer& answer) {
          if (answer.failed()) throw EngineError("a run of explain failed: " + answer.failure);
          times_[answer.index] = parse_number(answer.text).value();
        });
  }
  double time(std::size_t i) const { return times_[i]; }

 private:
  std::vector<std::function<double()>> runs_;
  std::vector<double> times_;
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
  const auto step_time = [&](const Scenario& s) {
    Ideal same_cut;
    same_cut.layers = &layers;
    return forecast(s, same_cut).step_time.value();
  };
  Variants variants;
  const std::size_t base = variants.add([&] { return step_time(scenario); });
  const std::vector<Parameter> all = parameters(scenario);
  std::vector<std::pair<std::size_t, std::size_t>> runs;  // with more and less of each
  for (const Parameter& p : all) {
    const auto with = [&](double factor) {
      return variants.add([&, factor] { return step_time(scaled(scenario, p.path, factor)); });
    };
    const std::size_t up = p.at_limit ? base : with(more);
    runs.emplace_back(up, with(less));
  }
  std::vector<std::pair<std::string, std::size_t>> bounds;
  for (const auto& [name, ideal] : ideals()) {
    bounds.emplace_back(name, variants.add([&, ideal = ideal] {
      return forecast(scenario, ideal).step_time.value();
    }));
  }
  Scenario balanced = scenario;
  balanced.workload.moe.routing = {};
  const bool uneven =
      scenario.workload.moe.routing.distribution != balanced.workload.moe.routing.distribution;
  if (uneven)
    bounds.emplace_back("experts balanced", variants.add([&] { return step_time(balanced); }));
  variants.run(workers);

  Explanation result;
  result.step_time = variants.time(base);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double range = std::log(all[i].at_limit ? 1 : more) - std::log(less);
    const double change = std::log(variants.time(runs[i].first) / variants.time(runs[i].second));
    result.elasticities.push_back({all[i], change / range});
    if (all[i].nature == Parameter::Nature::time) result.time_sum += change / range;
    if (all[i].nature == Parameter::Nature::rate) result.time_sum -= change / range;
  }
  std::ranges::stable_sort(result.elasticities, [](const Elasticity& a, const Elasticity& b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  for (const auto& [name, run] : bounds) result.bounds.push_back({name, variants.time(run)});
  result.path = critical_path(record(scenario));
  return result;
}

}  // namespace stepcast
