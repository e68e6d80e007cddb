#include "stepcast/sim/forecast/stage_programs.hpp"

#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/workloads/lower_stages.hpp"

namespace stepcast {

LayerLoads step_loads(const Scenario& scenario) {
  return scenario.synthetic ? LayerLoads{} : layer_loads(scenario.workload);
}

std::vector<StageProgram> stage_programs(const Scenario& scenario, const LayerTable& layers) {
  return stage_programs(scenario, layers, step_loads(scenario));
}

std::vector<StageProgram> stage_programs(const Scenario& scenario, const LayerTable& layers,
                                         const LayerLoads& loads) {
  // A task graph brings its programs along.
  if (scenario.graph) return scenario.graph->programs;
  if (!scenario.synthetic) return lower_stages(scenario.workload, layers, scenario.cluster, loads);
  std::vector<StageProgram> programs;
  for (std::uint32_t s = 0; s < scenario.workload.plan.pp; ++s)
    programs.push_back(lower_synthetic(*scenario.synthetic, scenario.workload.plan, Stage{s}));
  return programs;
}

}  // namespace stepcast
