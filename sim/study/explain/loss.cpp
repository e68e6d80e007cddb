#include "stepcast/sim/study/loss.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

constexpr std::size_t loss_sizes = 2;     // the small one and the large one
constexpr std::size_t loss_lengths = 2;   // its micro-batches, and twice as many
constexpr std::size_t loss_variants = 5;  // the whole step, then without one cause after the other

/// What is taken away up to each variant; every later one has less than the one before.
Ideal ideal_of(std::size_t variant) {
  Ideal ideal;
  ideal.free_latency = variant >= 2;
  ideal.free_communication = variant >= 3;
  ideal.no_bubble = variant >= 4;
  return ideal;
}

Scenario with_length(Scenario scenario, std::size_t length) {
  if (length > 0) scenario.workload.training.global_batch *= 2;
  return scenario;
}

/// The mean step of the seeds of what is drawn; without it one run is all.
double mean_step(Scenario scenario, std::size_t variant, std::int64_t seeds) {
  if (variant == 0 && seeds > 1 && draws(scenario.stalls)) {
    const SeedRuns runs = run_seeds(scenario, seeds, 1);
    return seed_statistics(scenario, runs).step_time.mean;
  }
  if (variant > 0) scenario.stalls = without_draws(scenario.stalls);
  return forecast(scenario, ideal_of(variant)).step_time.value();
}

/// A step of m micro-batches and one of 2 m lie on a line.
StepShare line_through(double single, double twice, double micro_batches) {
  const double slope = (twice - single) / micro_batches;
  return {slope, single - slope * micro_batches};
}

using Times = std::array<std::array<std::array<double, loss_variants>, loss_lengths>, loss_sizes>;

Times run_loss_variants(const std::array<Scenario, loss_sizes>& scenarios, std::int64_t seeds,
                        int workers) {
  Times times{};
  run_in_workers(
      loss_sizes * loss_lengths * loss_variants, workers,
      [&](std::size_t i) {
        const Scenario& base = scenarios[i / (loss_lengths * loss_variants)];
        const std::size_t length = i / loss_variants % loss_lengths;
        return shortest(mean_step(with_length(base, length), i % loss_variants, seeds));
      },
      [&](const WorkerAnswer& answer) {
        const auto seconds = parse_number(answer.text);
        if (answer.failed() || !seconds) throw_failure("a run of explain failed", answer);
        const std::size_t i = answer.index;
        times[i / (loss_lengths * loss_variants)][i / loss_variants % loss_lengths]
             [i % loss_variants] = *seconds;
      });
  return times;
}

/// What variant `k` has and the next one lacks; the last one is computing alone.
StepShare cause_part(const std::array<std::array<double, loss_variants>, loss_lengths>& times,
                     std::size_t k, double micro_batches) {
  const auto of = [&](std::size_t length) {
    return times[length][k] - (k + 1 < loss_variants ? times[length][k + 1] : 0);
  };
  return line_through(of(0), of(1), micro_batches);
}

double work_per_device_of(const Scenario& s) {
  return static_cast<double>(s.workload.training.global_batch) /
         static_cast<double>(s.cluster.devices);
}

}  // namespace

const std::vector<std::string>& loss_causes() {
  static const std::vector<std::string> names{"spread and stalls", "latencies", "ports",
                                              "pipeline fill", "computing"};
  return names;
}

double LossSplit::lost_in_micro_batches(const LossCause& cause) const {
  return cause.large.per_micro_batch * large_micro_batches -
         work * cause.small.per_micro_batch * small_micro_batches;
}

double LossSplit::lost_once(const LossCause& cause) const {
  return cause.large.once - work * cause.small.once;
}

LossSplit split_loss(const Sweep& two_sizes, const SearchPath& search, int workers) {
  expects(point_count(two_sizes) == loss_sizes, "a loss is between two sizes");
  const std::array scenarios{prepare_scenario(point_document(two_sizes, 0), search),
                             prepare_scenario(point_document(two_sizes, 1), search)};
  const std::int64_t seeds = std::max<std::int64_t>(two_sizes.seeds, 1);
  const Times times = run_loss_variants(scenarios, seeds, workers);
  LossSplit result{.small_devices = scenarios[0].cluster.devices,
                   .large_devices = scenarios[1].cluster.devices,
                   .small_micro_batches = static_cast<double>(scenarios[0].micro_batches()),
                   .large_micro_batches = static_cast<double>(scenarios[1].micro_batches()),
                   .small_step = times[0][0][0],
                   .large_step = times[1][0][0],
                   .work = work_per_device_of(scenarios[1]) / work_per_device_of(scenarios[0]),
                   .seeds = seeds};
  for (std::size_t k = 0; k < loss_variants; ++k)
    result.causes.push_back({loss_causes()[k], cause_part(times[0], k, result.small_micro_batches),
                             cause_part(times[1], k, result.large_micro_batches)});
  return result;
}

}  // namespace stepcast
