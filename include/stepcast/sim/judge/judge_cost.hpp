#pragma once
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

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
