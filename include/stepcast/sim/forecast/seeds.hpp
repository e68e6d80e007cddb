#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"

/// Here one scenario is run with many seeds: a band instead of one step (docs/models/spread.md).
namespace stepcast {

struct Scenario;

inline constexpr std::int64_t most_seeds = 10'000;

/// A quantile is the smallest number that so many of all do not exceed (nearest rank).
struct Quantiles {
  double mean = 0, p10 = 0, p50 = 0, p90 = 0;
};
/// The smallest of at least one number that this share (in (0, 1]) of all do not exceed (nearest
/// rank).
double nearest_rank(std::vector<double> numbers, double share);
/// The quantiles of at least one number.
Quantiles quantiles(std::vector<double> numbers);

/// The steps of the seeds `first`, `first + 1`, ...
struct SeedRuns {
  std::int64_t first = 0;      ///< stalls.spread.seed, or that of the first stall that draws
  std::vector<Seconds> steps;  ///< [seed - first]
  Seconds calm{0};             ///< without anything drawn
  /// The place in `steps` of the median step: the first of those that take as long.
  std::size_t median() const;
};
/// The scenario with the fleet of its cluster drawn (`stalls.spread`), where the step is else the
/// expected one.
Scenario with_drawn_fleet(Scenario scenario);
/// Says whether another seed gives another step: of the stalls, or of the fleet.
bool draws_for_seeds(const Scenario& scenario);
/// Runs the scenario with `count` seeds from its own on, in processes of their own, at most
/// `workers` at a time. What no draw changes is made once. Throws as `forecast`.
SeedRuns run_seeds(const Scenario& scenario, std::int64_t count, int workers);

/// What a report says of the seeds.
struct SeedStatistics {
  std::int64_t count = 0, first = 0, median_seed = 0;
  Quantiles step_time;                    ///< [s]
  std::optional<Quantiles> tokens_per_s;  ///< nothing for a synthetic workload
  Quantiles efficiency;                   ///< step without anything drawn over that of each seed
};
SeedStatistics seed_statistics(const Scenario& scenario, const SeedRuns& runs);

/// An interval of step times [s] around the median seed that holds 80 %: of the model
/// alone, of the seeds alone, and of both as independent errors.
struct StepInterval {
  struct Bounds {
    double low = 0, high = 0;
  };
  Bounds both, spread;
  std::optional<Bounds> model;  ///< nothing where the cluster has no measured interval
};
StepInterval step_interval(const Scenario& scenario, const SeedStatistics& seeds);

}  // namespace stepcast
