#pragma once
#include <string>
#include <vector>

#include "commands.hpp"

namespace stepcast::cli {

/// One change of a scenario with which its step fits into memory.
struct WayToFit {
  std::string setting;             ///< `training.recompute=full`, as --set takes it
  double step_time = 0, peak = 0;  ///< [s], [bytes]
};

/// The cheapest ways to fit, tried: those of one change that fit and lose least time, at most two,
/// and of two changes where no single one is enough. Each is simulated in a process of its own.
std::vector<WayToFit> ways_to_fit(const RunOptions& options, const Scenario& scenario);

/// What a run says of them, beside a step of `step_time`.
std::string ways_text(const std::vector<WayToFit>& ways, double step_time);

}  // namespace stepcast::cli
