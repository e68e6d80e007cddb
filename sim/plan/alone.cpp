#include "alone.hpp"

#include <algorithm>

#include "../fold/job_graph.hpp"
#include "../stage_programs.hpp"
#include "stepcast/sim/replay.hpp"

namespace stepcast {
namespace {

bool spans_stages(GroupKind group) {
  return group == GroupKind::world || group == GroupKind::pipeline || group == GroupKind::embedding;
}

std::uint32_t arrivals(GroupKind group, std::uint32_t stages) {
  if (!spans_stages(group)) return 1;
  return group == GroupKind::embedding ? std::min(2U, stages) : stages;
}

NetworkCall lone_call(GroupKind group, std::uint32_t stage, std::uint32_t stages, double alone) {
  NetworkCall call;
  call.group = spans_stages(group) ? stages : stage;
  call.arrivals = arrivals(group, stages);
  call.lone = true;
  call.alone = alone;
  return call;
}

NetworkHop lone_hop(const Placement& placement, const std::vector<StageProgram>& programs,
                    std::uint32_t stage, bool forward, const CollectiveTimes& times) {
  const auto stages = static_cast<std::uint32_t>(programs.size());
  NetworkHop hop;
  hop.peer = (stage + (forward ? 1 : stages - 1)) % stages;
  if (stages == 1) return hop;
  hop.flow.bytes = channel_bytes(programs[stage], forward).value();
  const CollectiveTimes::Hop time = times.hop(placement.first_of(Stage{stage}),
                                              placement.first_of(Stage{hop.peer}), hop.flow.bytes);
  hop.flow.latency = time.latency;
  hop.flow.alone = time.alone;
  return hop;
}

}  // namespace

NetworkMap map_without_contention(const Placement& placement,
                                  const std::vector<StageProgram>& programs,
                                  CollectiveTimes& times) {
  NetworkMap map;
  const auto stages = static_cast<std::uint32_t>(programs.size());
  for (std::uint32_t s = 0; s < stages; ++s) {
    const Rank first = placement.first_of(Stage{s});
    map.classes.representative.push_back(first);
    map.classes.stage.push_back(Stage{s});
    map.classes.ranks.push_back(1);
    map.classes.class_of.push_back(s);
    auto& calls = map.call_of.emplace_back();
    for (const StageCall& call : programs[s].calls) {
      calls.push_back(static_cast<std::uint32_t>(map.calls.size()));
      map.calls.push_back(lone_call(call.group, s, stages, times.alone(placement, call, first)));
    }
    map.forward.push_back(lone_hop(placement, programs, s, true, times));
    map.backward.push_back(lone_hop(placement, programs, s, false, times));
  }
  return map;
}

Seconds step_alone(const Scenario& scenario, CollectiveTimes& times) {
  const Placement placement(scenario.workload.plan);
  const LayerTable layers = assign_layers(scenario.workload, scenario.cluster.device);
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);
  const NetworkMap map = map_without_contention(placement, programs, times);
  return replay({programs,
                 map,
                 scenario.cluster.host,
                 scenario.pipeline_shape(),
                 pipeline_schedule(scenario.schedule.pipeline),
                 scenario.schedule.p2p,
                 {}})
      .step_time;
}

}  // namespace stepcast
