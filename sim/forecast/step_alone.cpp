#include "stepcast/sim/forecast/step_alone.hpp"

#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {

Seconds step_alone(const Scenario& scenario, CollectiveTimes& times) {
  const Placement placement(scenario.workload.plan);
  const LayerTable layers = assign_layers(scenario.workload, scenario.cluster.device);
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);
  const NetworkMap map = map_without_contention(placement, programs, times);
  return replay({.programs = programs,
                 .network = map,
                 .host = scenario.cluster.host,
                 .shape = scenario.pipeline_shape(),
                 .orders = scenario.orders(),
                 .p2p = scenario.schedule.p2p})
      .step_time;
}

}  // namespace stepcast
