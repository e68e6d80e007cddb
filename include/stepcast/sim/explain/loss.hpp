#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/sim/sweep/sweep.hpp"

namespace stepcast {

/// A part of a step, in what every micro-batch takes and what is paid once [s].
struct StepShare {
  double per_micro_batch = 0;  ///< of one micro-batch
  double once = 0;
  double of(double micro_batches) const { return per_micro_batch * micro_batches + once; }
};

/// One cause of lost efficiency: what it takes of a step at either size.
struct LossCause {
  std::string name;
  StepShare small, large;
};

/// Splits what a job loses from one size to another. Definition: docs/explain.md.
struct LossSplit {
  std::int64_t small_devices = 0, large_devices = 0;
  double small_micro_batches = 0, large_micro_batches = 0;
  double small_step = 0, large_step = 0;  ///< [s], the mean of the seeds
  double work = 1;  ///< of a device at the large size over that at the small one
  std::int64_t seeds = 1;
  /// In the order in which they are taken away; clocks, collisions and barriers only where a
  /// scenario has them. Their losses add up to large_step - work * small_step.
  std::vector<LossCause> causes;

  double efficiency() const { return work * small_step / large_step; }
  /// The seconds that a cause takes more of the large step than of a perfectly scaled
  /// small one: in its micro-batches, and once.
  double lost_in_micro_batches(const LossCause& cause) const;
  double lost_once(const LossCause& cause) const;
};

/// Runs a sweep of two sizes, 21 times or so, in `workers` processes at a time. Throws
/// InputError where a size is no scenario, EngineError when a run fails.
LossSplit split_loss(const Sweep& two_sizes, const SearchPath& search, int workers);

/// A table of at most 100 columns.
std::string loss_table(const LossSplit& split);
std::string loss_json(const LossSplit& split);

}  // namespace stepcast
