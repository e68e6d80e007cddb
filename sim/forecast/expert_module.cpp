#include "expert_module.hpp"

#include "lone_run.hpp"

namespace stepcast {
namespace {

LoneRun run_module(const Scenario& scenario, const Placement& placement) {
  return run_alone(scenario, placement, lower_expert_module(scenario.workload, scenario.cluster));
}

}  // namespace

ExpertModuleTimes expert_module_times(const Scenario& scenario, const Placement& placement) {
  return run_module(scenario, placement).times;
}

std::optional<SplitExperts> split_experts(const Scenario& scenario, const Placement& placement) {
  const WorkloadSpec& spec = scenario.workload;
  // Without pieces there is nothing to compare with.
  if (!spec.moe.in_pieces() || spec.plan.ep <= 1) return std::nullopt;
  Scenario in_one = scenario;
  in_one.workload.moe.overlap = MoeSpec::Overlap::none;
  in_one.workload.moe.pieces = 1;
  return difference(run_module(scenario, placement), run_module(in_one, placement));
}

}  // namespace stepcast
