#include "stepcast/sim/forecast/step_alone.hpp"

#include <algorithm>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/fleet_pace.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "unit_bound.hpp"

namespace stepcast {

LoneStep::LoneStep(const Scenario& scenario, CollectiveTimes& times, LonePace pace)
    : scenario_{scenario},
      programs_{stage_programs(scenario, layers_of(scenario))},
      orders_{scenario.orders()} {
  const Placement placement(scenario.workload.plan);
  network_ = map_without_contention(placement, programs_, times);
  if (pace == LonePace::even) return;
  stalls_.ranks = placement.world();
  stalls_.spec.host_sync = scenario.stalls.host_sync;
  if (!counts_fleet(scenario)) return;
  const SpeedFactors mean =
      fleet_pace(*scenario.cluster.fleet, placement, programs_, scenario.pipeline_shape(), stalls_,
                 scenario.cluster.node_devices)
          .mean;
  // A forecast counts no fleet that makes a step shorter.
  stalls_.speed.assign(stalls_.ranks, {std::max(mean.device, 1.0), std::max(mean.host, 1.0)});
}

Seconds LoneStep::bound() const {
  return Seconds{unit_bound({.programs = programs_,
                             .network = network_,
                             .shape = scenario_.pipeline_shape(),
                             .orders = orders_,
                             .p2p = scenario_.schedule.p2p,
                             .slowing = stalls_.speed_of(Rank{0}).device})};
}

Seconds LoneStep::replayed() const {
  // No recording and no other steps: a lone step is asked for its time only, thousands of times in
  // a plan.
  return replay({.programs = programs_,
                 .network = network_,
                 .host = scenario_.cluster.host,
                 .shape = scenario_.pipeline_shape(),
                 .orders = orders_,
                 .p2p = scenario_.schedule.p2p,
                 .stalls = stalls_.any() ? &stalls_ : nullptr})
      .step_time;
}

Seconds step_alone(const Scenario& scenario, CollectiveTimes& times) {
  return LoneStep(scenario, times).replayed();
}

}  // namespace stepcast
