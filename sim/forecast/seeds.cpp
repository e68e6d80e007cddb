#include "stepcast/sim/forecast/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "spread_step.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/replay/data_plan.hpp"

namespace stepcast {
namespace {

/// A fleet as draws of single devices.
SpreadSpec drawn(const FleetSpec& fleet) {
  SpreadSpec spread;
  if (fleet.device_sigma > 0) {
    SpreadSpec::Device device;
    device.sigma = fleet.device_sigma;
    spread.device = device;
  }
  if (fleet.slow_share() > 0) {
    SpreadSpec::Node node;
    node.slow_share = fleet.slow_share();
    node.slow_factor = fleet.slow_nodes.factor;
    spread.node = node;
  }
  if (fleet.throttled.share > 0) {
    constexpr Seconds hour{3600};
    // Events so long that a device is in one for that share of its time.
    spread.transient =
        SpreadSpec::Transient{-std::log1p(-fleet.throttled.share), hour, fleet.throttled.factor};
  }
  return spread;
}

std::int64_t first_seed(const StallsSpec& spec) {
  // The seed that the user counts from: of what is drawn first in this list.
  if (spec.spread) return spec.spread->seed;
  if (spec.compute_jitter) return spec.compute_jitter->seed;
  if (spec.gc_pauses) return spec.gc_pauses->seed;
  if (spec.allocator_pauses) return spec.allocator_pauses->seed;
  return spec.collisions ? spec.collisions->seed : 0;
}

/// Links and hashes belong to the network, which then is another one for each seed.
bool shares_setup(const StallsSpec& spec) {
  if (spec.collisions) return false;
  return !spec.spread || !spec.spread->link || spec.spread->link->neutral();
}

/// Without anything drawn, with a folding of its own.
Seconds calm_step(const Scenario& scenario, const AttentionLoads* loads) {
  Scenario calm = scenario;
  // Draws would make ranks differ; without them they fold.
  calm.stalls = without_draws(scenario.stalls);
  const Ideal real;
  const StepSetup setup(calm, loads, real, false);
  return step_time_apart(setup, setup.stalls(calm.stalls));
}

class SeedJob {
 public:
  SeedJob(const Scenario& scenario, const AttentionLoads* loads)
      : scenario_{scenario}, loads_{loads}, calm_{calm_step(scenario, loads)} {
    // Without a shared setup every seed builds its own.
    if (!shares_setup(scenario.stalls)) return;
    shared_.emplace(scenario, loads, real_, false);
    // Ranks that meet in every micro-batch are the same for all seeds.
    if (shared_->step_kind == StepKind::worst)
      lock_step_.emplace(shared_->placement, shared_->programs);
  }

  Seconds calm() const { return calm_; }
  /// In a process of its own, of which it may make the one run.
  Seconds step(std::int64_t offset) const {
    // Offsets count from the seeds of the scenario.
    Scenario own = scenario_;
    own.stalls = with_seeds(scenario_.stalls, offset);
    if (!shared_) {
      const StepSetup setup(own, loads_, real_, false);
      return setup.replayed(setup.stalls(own.stalls)).step_time;
    }
    const StallPlan stalls = shared_->stalls(own.stalls);
    if (lock_step_) return worst_replica(*shared_, *lock_step_, stalls, calm_).step_time;
    return shared_->replayed(stalls).step_time;
  }

 private:
  const Scenario& scenario_;
  const AttentionLoads* loads_;
  Seconds calm_;
  Ideal real_;
  std::optional<StepSetup> shared_;
  std::optional<LockStep> lock_step_;
};

double relative_width(double ratio) { return std::abs(ratio - 1); }

}  // namespace

/// The product of a share and a count rounds: 0.55 x 100 is above 55.
double nearest_rank(std::vector<double> numbers, double share) {
  expects(!numbers.empty(), "a quantile is of something");
  constexpr double rounding = 1e-9;
  std::ranges::sort(numbers);
  // The smallest number that at least that share of all does not exceed.
  const double rank = std::ceil(share * static_cast<double>(numbers.size()) - rounding);
  return numbers[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

Quantiles quantiles(std::vector<double> numbers) {
  const auto quantile = [&](double share) { return nearest_rank(numbers, share); };
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  return {sum / static_cast<double>(numbers.size()), quantile(0.1), quantile(0.5), quantile(0.9)};
}

std::size_t SeedRuns::median() const {
  std::vector<double> times;
  for (const Seconds step : steps) times.push_back(step.value());
  const double middle = quantiles(times).p50;
  // quantiles() gives one of the numbers itself, so that it is found again.
  return static_cast<std::size_t>(std::ranges::find(times, middle) - times.begin());
}

Scenario with_drawn_fleet(Scenario scenario) {
  if (counts_fleet(scenario)) scenario.stalls.spread = drawn(*scenario.cluster.fleet);
  return scenario;
}

bool draws_for_seeds(const Scenario& scenario) {
  return draws(scenario.stalls) || counts_fleet(scenario);
}

SeedRuns run_seeds(const Scenario& of_fleet, std::int64_t count, int workers) {
  const Scenario scenario = with_drawn_fleet(of_fleet);
  const auto data = plan_data(scenario.schedule.data, scenario.workload, scenario.micro_batches(),
                              Placement(scenario.workload.plan));
  // Documents are packed once: all seeds train on the same ones.
  const SeedJob job(scenario, data ? &data->loads : nullptr);
  SeedRuns runs{first_seed(scenario.stalls), std::vector<Seconds>(static_cast<std::size_t>(count)),
                job.calm()};
  run_in_workers(
      runs.steps.size(), workers,
      [&](std::size_t i) { return shortest(job.step(static_cast<std::int64_t>(i)).value()); },
      [&](const WorkerAnswer& answer) {
        const auto seconds = parse_number(answer.text);
        if (answer.failed() || !seconds)
          throw_failure(
              "seed " + std::to_string(runs.first + static_cast<std::int64_t>(answer.index)),
              answer);
        runs.steps[answer.index] = Seconds{*seconds};
      });
  return runs;
}

SeedStatistics seed_statistics(const Scenario& scenario, const SeedRuns& runs) {
  const TrainingSpec& training = scenario.workload.training;
  const double tokens =
      static_cast<double>(training.global_batch) * static_cast<double>(training.sequence);
  std::vector<double> times, rates, efficiencies;
  for (const Seconds step : runs.steps) {
    times.push_back(step.value());
    rates.push_back(tokens / step.value());
    // Efficiency: the step without anything drawn over the drawn one.
    efficiencies.push_back(runs.calm / step);
  }
  SeedStatistics result{.count = static_cast<std::int64_t>(runs.steps.size()),
                        .first = runs.first,
                        .median_seed = runs.first + static_cast<std::int64_t>(runs.median()),
                        .step_time = quantiles(times),
                        .efficiency = quantiles(efficiencies)};
  if (!scenario.synthetic) result.tokens_per_s = quantiles(rates);
  return result;
}

/// Relative deviations of independent errors add in squares, each side by itself.
StepInterval step_interval(const Scenario& scenario, const SeedStatistics& seeds) {
  const Quantiles& step = seeds.step_time;
  StepInterval result;
  // One drawn step of ten is below, one above.
  result.spread = {step.p10, step.p90};
  result.both = result.spread;
  const auto& measured = scenario.cluster.interval;
  // No measured interval: the spread is all that is known.
  if (!measured || scenario.synthetic) return result;
  const QuotientRange& range = step_range(scenario, *measured);
  result.model = StepInterval::Bounds{step.p50 * range.low, step.p50 * range.high};
  const auto& m = *result.model;
  const auto joined = [&](double model, double spread) {
    return std::hypot(relative_width(model / step.p50), relative_width(spread / step.p50));
    // Deviations from the median, relative to it.
  };
  result.both = {step.p50 * (1 - joined(m.low, step.p10)),
                 step.p50 * (1 + joined(m.high, step.p90))};
  return result;
}

}  // namespace stepcast
