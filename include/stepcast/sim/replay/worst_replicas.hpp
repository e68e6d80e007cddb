#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/sim/replay/timeline.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// Where devices differ for ever, the step is that of the slowest replica, and few replicas can be
/// it. Here they are found and ranked (docs/models/spread.md#folding).
namespace stepcast {

/// So many replicas are replayed at most; the page says what that leaves out.
inline constexpr std::size_t most_replicas = 8;

/// A replica is all ranks that wait for each other in every micro-batch: over the pipeline and over
/// the groups that the code of a unit calls. With experts over replicas, or sharded parameters, it
/// is several replicas of the plan or all of them.
class LockStep {
 public:
  LockStep(const Placement& placement, const std::vector<StageProgram>& programs);
  std::uint32_t replicas() const { return count_; }
  std::uint32_t replica_of(Rank rank) const { return of_rank_[rank.value]; }
  /// [replica][stage] Its ranks on a stage go at the pace of their slowest one: the largest factor
  /// on device time and on host time of them.
  std::vector<std::vector<SpeedFactors>> paces(const StallPlan& stalls) const;

 private:
  const Placement& placement_;
  std::vector<std::uint32_t> of_rank_;
  std::uint32_t count_ = 0;
};

/// [s] What a rank works at factor 1.
struct PacedWork {
  double device = 0, host = 0;
  double at(const SpeedFactors& speed) const;
};
/// What a stage works in every micro-batch, and once per step.
struct StageWork {
  PacedWork micro_batch, once;
};
std::vector<StageWork> stage_work(const std::vector<StageProgram>& programs);

/// Says whether what replicas exchange once a step is under way beside the exchanges of units,
/// with which it may share links. Replicas do not go in step with each other, so that it takes
/// longer than among replicas that are alike.
bool exchanges_beside_units(const std::vector<StageProgram>& programs);

/// Instructions that a rank of the stage executes in the units of a step.
double unit_tasks(const StageProgram& program, const StageOrder& order);

/// The ranks of a stage that wait for each other in every micro-batch: of the groups that the code
/// of a unit calls, those that share a rank, with each other.
std::uint32_t ranks_in_step(const Placement& placement, const std::vector<StageProgram>& programs);

/// The seconds of device or host time, whichever is more, that a step takes by the
/// formula of a pipeline whose stages go at these paces.
class PaceEstimate {
 public:
  PaceEstimate(const std::vector<StageProgram>& programs, const PipelineShape& shape);
  double operator()(const std::vector<SpeedFactors>& pace_of_stage) const;

 private:
  std::vector<StageWork> work_;  ///< [stage]
  double micro_batches_ = 1, chunks_ = 1;
};

/// The plan of a job in which every rank class that has ranks of `replica` goes at that
/// replica's pace, and every other one at the mean of its ranks.
StallPlan at_pace_of(const StallPlan& stalls, const LockStep& lock_step, const RankClasses& classes,
                     const std::vector<SpeedFactors>& pace_of_stage, std::uint32_t replica);

/// Ranks work at their own speed and wait for the slowest: what the classes worked beyond the mean
/// of their ranks is waiting, other_idle.
void give_back_waiting(Timeline& timeline, const RankClasses& classes, const StallPlan& own,
                       const StallPlan& replayed);

}  // namespace stepcast
