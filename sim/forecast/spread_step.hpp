#pragma once

#include "step_setup.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

namespace stepcast {

/// One step of a job whose devices differ (docs/models/spread.md).
struct SpreadStep {
  Timeline timeline;
  SpreadForecast spread;
};
/// The step of the scenario's own seed. Every replay but the last runs in a process of its own.
SpreadStep step_under_spread(const StepSetup& setup, Recording* record,
                             const RecordedClasses& recorded);

/// The longest of the replicas that may be the slowest.
struct WorstReplica {
  StallPlan plan;  ///< of the job at that replica's pace
  Seconds step_time{0};
  std::size_t replayed = 0;
  double error_bound = 0;  ///< part of the step by which a replica left out could be longer
};
/// `lock_step` and `calm`, the step without spread, are the same for all seeds.
WorstReplica worst_replica(const StepSetup& setup, const LockStep& lock_step,
                           const StallPlan& stalls, Seconds calm);

/// The step time of one replay, from a process of its own.
Seconds step_time_apart(const StepSetup& setup, const StallPlan& stalls);

}  // namespace stepcast
