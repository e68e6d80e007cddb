#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/base/units.hpp"
#include "stepcast/sim/forecast/seeds.hpp"

/// Here one scenario is run at many steps of loads that change (docs/models/expert_parallel.md,
/// "Loads that live").
namespace stepcast {

inline constexpr std::int64_t most_load_steps = 10'000;

/// The steps `first`, `first + 1`, ... of a run, each with its own loads.
struct LoadSteps {
  /// Experts change their ranks before some of the steps; nothing hides that.
  struct Relocation {
    std::int64_t times = 0;
    Bytes moved{0};       ///< by the busiest rank, mean over the times
    Seconds time{0};      ///< of one, on the slowest stage: mean over the times
    Seconds per_step{0};  ///< all of them over all steps
  };
  std::int64_t count = 0, first = 0;
  Quantiles step_time;                   ///< [s] with the relocation before each
  Quantiles rank_imbalance;              ///< fullest over mean rank
  std::optional<Relocation> relocation;  ///< nothing: never
  Seconds even{0};                       ///< the step with all experts loaded alike
  /// Mean of the same steps with contiguous experts and no copies; nothing: that is what it is.
  std::optional<Seconds> skewed;

  Seconds mean() const { return Seconds{step_time.mean}; }
};
/// Runs `count` steps from that of the scenario on, and what they are held against, in processes of
/// their own, at most `workers` at a time. The loads of the scenario change (loads_change()), and a
/// log holds as many steps. Throws as `forecast`.
LoadSteps run_load_steps(const Scenario& scenario, std::int64_t count, int workers);

/// The mean of such steps alone, with their relocations.
Seconds mean_load_step(const Scenario& scenario, std::int64_t count, int workers);

/// The steps that can be run from that of the scenario on: of a log those that it holds.
std::int64_t load_steps_left(const Scenario& scenario);

}  // namespace stepcast
