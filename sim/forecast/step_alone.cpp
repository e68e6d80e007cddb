#include "stepcast/sim/forecast/step_alone.hpp"

#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "unit_bound.hpp"

namespace stepcast {

LoneStep::LoneStep(const Scenario& scenario, CollectiveTimes& times)
    : scenario_{scenario},
      programs_{stage_programs(scenario, assign_layers(scenario.workload, scenario.cluster))},
      network_{map_without_contention(Placement(scenario.workload.plan), programs_, times)},
      orders_{scenario.orders()} {}

Seconds LoneStep::bound() const {
  return Seconds{unit_bound({.programs = programs_,
                             .network = network_,
                             .shape = scenario_.pipeline_shape(),
                             .orders = orders_,
                             .p2p = scenario_.schedule.p2p})};
}

Seconds LoneStep::replayed() const {
  return replay({.programs = programs_,
                 .network = network_,
                 .host = scenario_.cluster.host,
                 .shape = scenario_.pipeline_shape(),
                 .orders = orders_,
                 .p2p = scenario_.schedule.p2p})
      .step_time;
}

Seconds step_alone(const Scenario& scenario, CollectiveTimes& times) {
  return LoneStep(scenario, times).replayed();
}

}  // namespace stepcast
