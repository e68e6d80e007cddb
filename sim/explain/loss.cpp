#include "stepcast/sim/explain/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

std::string efficiency_points(double seconds, double step) {
  return fmt::format("{:+.2f}", 100 * seconds / step);
}

constexpr std::size_t loss_sizes = 2;    // the small one and the large one
constexpr std::size_t loss_lengths = 2;  // its micro-batches, and twice as many

/// What is taken away from a scenario on the way to computing alone.
struct Taken {
  const char* cause;
  bool (*present)(const Scenario&);
  void (*away)(Scenario&, Ideal&);
};

bool always(const Scenario&) { return true; }

/// In this order; a cause that a scenario cannot have is left out.
const std::vector<Taken>& loss_table_of_causes() {
  // Each step takes one more cause away, from what is drawn to what is built in, so that the
  // differences add up.
  static const std::vector<Taken> table{
      {"spread and stalls", always,
       [](Scenario& s, Ideal&) { s.stalls = without_draws(s.stalls); }},
      {"clocks",
       [](const Scenario& s) {
         return s.cluster.device.idle_clock.has_value() || s.cluster.device.power_cap.has_value();
       },
       [](Scenario& s, Ideal&) {
         s.cluster.device.idle_clock.reset();
         s.cluster.device.power_cap.reset();
       }},
      {"fleet", counts_fleet, [](Scenario& s, Ideal&) { s.cluster.fleet.reset(); }},
      {"collisions", [](const Scenario& s) { return !s.cluster.network.undisturbed(); },
       [](Scenario& s, Ideal&) {
         s.cluster.network.routing = NetworkSpec::Routing::ideal;
         s.cluster.network.background = 0;
       }},
      {"barriers", [](const Scenario& s) { return s.workload.runtime.barriers.any(); },
       [](Scenario& s, Ideal&) { s.workload.runtime.barriers = {}; }},
      {"latencies", always, [](Scenario&, Ideal& ideal) { ideal.free_latency = true; }},
      {"ports", always, [](Scenario&, Ideal& ideal) { ideal.free_communication = true; }},
      {"pipeline fill", always, [](Scenario&, Ideal& ideal) { ideal.no_bubble = true; }}};
  return table;
}

using Ladder = std::vector<Taken>;

Ladder ladder_of(const std::array<Scenario, loss_sizes>& scenarios) {
  Ladder ladder;
  for (const Taken& taken : loss_table_of_causes())
    if (std::ranges::any_of(scenarios, taken.present)) ladder.push_back(taken);
  return ladder;
}

Scenario with_length(Scenario scenario, std::size_t length) {
  if (length > 0) scenario.workload.training.global_batch *= 2;
  return scenario;
}

/// The step without the first `variant` causes, of the whole one the mean of the seeds of what is
/// drawn; without draws one run is all.
double mean_step(Scenario scenario, const Ladder& ladder, std::size_t variant, std::int64_t seeds) {
  if (variant == 0 && seeds > 1 && draws_for_seeds(scenario)) {
    const SeedRuns runs = run_seeds(scenario, seeds, 1);
    return seed_statistics(scenario, runs).step_time.mean;
  }
  Ideal ideal;
  for (std::size_t i = 0; i < variant; ++i) ladder[i].away(scenario, ideal);
  return forecast(scenario, ideal).step_time.value();
}

/// A step of m micro-batches and one of 2 m lie on a line.
StepShare line_through(double single, double twice, double micro_batches) {
  const double slope = (twice - single) / micro_batches;
  return {slope, single - slope * micro_batches};
}

/// [length][variant] of one size.
using Times = std::array<std::vector<double>, loss_lengths>;

std::array<Times, loss_sizes> run_loss_variants(const std::array<Scenario, loss_sizes>& scenarios,
                                                const Ladder& ladder, std::int64_t seeds,
                                                int workers) {
  const std::size_t variants = ladder.size() + 1;
  std::array<Times, loss_sizes> times;
  for (Times& of_size : times) of_size.fill(std::vector<double>(variants));
  run_in_workers(
      loss_sizes * loss_lengths * variants, workers,
      [&](std::size_t i) {
        const Scenario& base = scenarios[i / (loss_lengths * variants)];
        const std::size_t length = i / variants % loss_lengths;
        return shortest(mean_step(with_length(base, length), ladder, i % variants, seeds));
      },
      [&](const WorkerAnswer& answer) {
        const auto seconds = parse_number(answer.text);
        if (answer.failed() || !seconds) throw_failure("a run of explain failed", answer);
        const std::size_t i = answer.index;
        times[i / (loss_lengths * variants)][i / variants % loss_lengths][i % variants] = *seconds;
      });
  return times;
}

/// What variant `k` has and the next one lacks; the last one is computing alone.
StepShare cause_part(const Times& times, std::size_t k, double micro_batches) {
  const auto of = [&](const std::vector<double>& steps) {
    return steps[k] - (k + 1 < steps.size() ? steps[k + 1] : 0);
  };
  return line_through(of(times[0]), of(times[1]), micro_batches);
}

double work_per_device_of(const Scenario& s) {
  return static_cast<double>(s.workload.training.global_batch) /
         static_cast<double>(s.cluster.devices);
}

}  // namespace

double LossSplit::lost_in_micro_batches(const LossCause& cause) const {
  return cause.large.per_micro_batch * large_micro_batches -
         work * cause.small.per_micro_batch * small_micro_batches;
}

double LossSplit::lost_once(const LossCause& cause) const {
  return cause.large.once - work * cause.small.once;
}

LossSplit split_loss(const Sweep& two_sizes, const SearchPath& search, int workers) {
  expects(point_count(two_sizes) == loss_sizes, "a loss is between two sizes");
  // Point 0 is the small job and 1 the large one; both are read before anything runs.
  const std::array scenarios{
      prepare_scenario(point_document(two_sizes, 0), search, IdleAlgorithms::kept),
      prepare_scenario(point_document(two_sizes, 1), search, IdleAlgorithms::kept)};
  const std::int64_t seeds = std::max<std::int64_t>(two_sizes.seeds, 1);
  const Ladder ladder = ladder_of(scenarios);
  const auto times = run_loss_variants(scenarios, ladder, seeds, workers);
  LossSplit result{.small_devices = scenarios[0].cluster.devices,
                   .large_devices = scenarios[1].cluster.devices,
                   .small_micro_batches = static_cast<double>(scenarios[0].micro_batches()),
                   .large_micro_batches = static_cast<double>(scenarios[1].micro_batches()),
                   .small_step = times[0][0][0],
                   .large_step = times[1][0][0],
                   .work = work_per_device_of(scenarios[1]) / work_per_device_of(scenarios[0]),
                   .seeds = seeds};
  // What the ladder of causes leaves is computing.
  for (std::size_t k = 0; k <= ladder.size(); ++k)
    result.causes.push_back({k < ladder.size() ? ladder[k].cause : "computing",
                             cause_part(times[0], k, result.small_micro_batches),
                             cause_part(times[1], k, result.large_micro_batches)});
  return result;
}

/// Points of efficiency: seconds lost over the large step.
std::string loss_table(const LossSplit& split) {
  std::string text =
      fmt::format("From {} to {} devices the step goes from {} to {}, efficiency {:.1f}%{}.\n\n",
                  split.small_devices, split.large_devices, human(Seconds{split.small_step}),
                  human(Seconds{split.large_step}), 100 * split.efficiency(),
                  split.seeds > 1 ? fmt::format(" (means of {} seeds)", split.seeds) : "");
  ReportTable table({text_column("points of efficiency"), number_column("in micro-batches"),
                     number_column("once per step"), number_column("together")});
  double in_micro_batches = 0, once = 0;
  const auto row = [&](const std::string& name, double in, double at_once) {
    table.add({name, efficiency_points(in, split.large_step),
               efficiency_points(at_once, split.large_step),
               efficiency_points(in + at_once, split.large_step)});
  };
  for (const LossCause& cause : split.causes) {
    const double in = split.lost_in_micro_batches(cause), at_once = split.lost_once(cause);
    in_micro_batches += in;
    once += at_once;
    row(cause.name, in, at_once);
  }
  row("lost", in_micro_batches, once);
  return text + table.text("  ");
}

}  // namespace stepcast
