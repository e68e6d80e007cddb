#include "step_flops.hpp"

namespace stepcast {

StepFlops step_flops(const Scenario& scenario, const std::vector<StageProgram>& programs,
                     double dropped, const AttentionLoads* loads) {
  const WorkloadSpec& workload = scenario.workload;
  // Pairs that documents mask out are nobody's work.
  const double masked = loads ? 1 - loads->mean_pairs() : 0;
  StepFlops flops;
  flops.model = model_flops_per_step(workload) - masked * model_attention_flops_per_step(workload) -
                dropped * model_expert_flops_per_step(workload);
  // Programs are those of one rank per stage.
  for (const StageProgram& program : programs)
    flops.executed += program.executed_flops - masked * program.executed_attention_flops;
  flops.executed *= static_cast<double>(workload.plan.stage_ranks());
  return flops;
}

}  // namespace stepcast
