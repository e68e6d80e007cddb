#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// The time of the routed experts of one MoE layer by themselves, from dispatch to combine,
/// with the host that issues them and exchanges that meet no other (docs/models/expert_parallel.md,
/// "The module by itself").
ExpertModuleTimes expert_module_times(const Scenario& scenario, const Placement& placement);
/// Against the same module with its tokens in one piece; nothing where they are.
std::optional<SplitExperts> split_experts(const Scenario& scenario, const Placement& placement);

}  // namespace stepcast
