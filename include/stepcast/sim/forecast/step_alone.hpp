#pragma once
#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// This is the step time of a checked scenario without contention. It is never above forecast()'s:
/// every wait of the first ranks is there, each for the least time that it can take
/// (docs/models/plan.md).
Seconds step_alone(const Scenario& scenario, CollectiveTimes& times);

}  // namespace stepcast
