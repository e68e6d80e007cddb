#include "expert_module.hpp"

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {

ExpertModuleTimes expert_module_times(const Scenario& scenario, const Placement& placement) {
  CollectiveTimes times{scenario.cluster, scenario.workload.communication.algorithms};
  const std::vector<StageProgram> programs{
      lower_expert_module(scenario.workload, scenario.cluster)};
  const NetworkMap map = map_without_contention(placement, programs, times);
  const std::vector<StageOrder> orders{{{UnitKind::forward, {}, {}}, {UnitKind::backward, {}, {}}}};
  Recording recording;
  replay({.programs = programs,
          .network = map,
          .host = scenario.cluster.host,
          .shape = {.group = 1},
          .orders = orders,
          .record = &recording});
  const auto& units = recording.ranks.at(0).units;
  expects(units.size() == 2, "a module runs forward and backward");
  return {Seconds{units[0].end - units[0].start}, Seconds{units[1].end - units[1].start}};
}

}  // namespace stepcast
