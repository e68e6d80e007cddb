#pragma once
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/topology/platform.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// What the judge replays: the step with every rank for itself, and the platform that it runs on.
struct JudgeInput {
  const ReplayInput& step;  ///< its map is unfolded: of it, latencies and chosen algorithms count
  const Placement& placement;
  const Fabric& fabric;
  Platform platform;
  std::vector<std::uint32_t> host_of_rank = {};  ///< empty: the device of the rank
  bool free_communication = false;               ///< collectives take no time
};

/// The same step by the slow and plain road: every operator of every rank is
/// an execution on its host, every message and every flow of a collective a communication over
/// named links, counted message by message from the routes that SimGrid gives. Nothing is folded,
/// skipped or closed. Throws EngineError where the platform lacks a route.
/// Model: docs/models/judge.md.
Timeline judged(const JudgeInput& input);

/// What a judged step takes, roughly, before anything of it is built (docs/models/judge.md).
struct JudgeCost {
  double seconds = 0;  ///< of processor
  double bytes = 0;    ///< of memory
};
JudgeCost judge_cost(const std::vector<StageProgram>& programs,
                     const std::vector<StageOrder>& orders, const Placement& placement,
                     std::int64_t steps);

/// Tells it to those who wait. Throws InputError, with the number of ranks that can be judged,
/// where the memory of the machine or of the process is not enough.
void announce_judge(const JudgeCost& cost, std::uint32_t ranks);

}  // namespace stepcast
