#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/base/units.hpp"
#include "stepcast/sim/replay/timeline.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Goodput is what failures and checkpoints leave of a long run. Derivation and sources:
/// docs/models/goodput.md.
namespace stepcast {

/// The job saves its state, fails at exponential distances, and starts again from what it saved.
struct FailureModel {
  Seconds checkpoint{0};        ///< for which training waits at each checkpoint
  Seconds restart{0};           ///< from a failure to the first work after it
  std::optional<Seconds> mtbf;  ///< of the whole job; nothing: it never fails
};

/// Goodput is useful time over expected wall time when the state is saved after each `interval` > 0
/// of work: interval / (M e^(R/M) (e^((interval + C)/M) - 1)), the complete model of Daly 2006;
/// without failures it is interval / (interval + C).
double goodput(const FailureModel& model, Seconds interval);

/// The first-order optimum of the interval, sqrt(2 C M): Young 1974.
Seconds young_interval(Seconds checkpoint, Seconds mtbf);

/// The higher-order optimum, Daly 2006: sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 2M / 9) - C
/// for C < 2M, and M beyond.
Seconds daly_interval(Seconds checkpoint, Seconds mtbf);

/// A report says this of `stalls.failures` and `stalls.checkpoint`. A part that is not defined is
/// nothing: without failures there is no optimum, without checkpoints no goodput.
struct Reliability {
  std::optional<Seconds> cluster_mtbf;  ///< mean time between failures of any device
  std::optional<std::int64_t> checkpoint_steps;
  std::optional<Seconds> checkpoint_interval;  ///< work of those steps, between two checkpoints
  std::optional<double> goodput;
  std::optional<Seconds> optimal_interval;          ///< Daly's
  std::optional<std::int64_t> optimal_every_steps;  ///< in whole steps, the better neighbour
  std::optional<double> goodput_at_optimum;         ///< with those whole steps
};

/// Nothing unless the scenario has failures or checkpoints. The checkpoints that were
/// replayed are no work and are taken out of the step time.
/// `fleet`: what a step takes longer than that of the timeline.
std::optional<Reliability> reliability(const Scenario& scenario, const Timeline& timeline,
                                       Seconds fleet = Seconds{0});

}  // namespace stepcast
