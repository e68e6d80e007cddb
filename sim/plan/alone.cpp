#include "alone.hpp"

#include <algorithm>

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

/// The largest output of the stage's chunks, or gradient of their inputs.
Bytes sent_bytes(const StageProgram& program, bool forward) {
  Bytes most{0};
  for (const ChunkProgram& chunk : program.chunks)
    most = std::max(most, forward ? chunk.send_forward : chunk.send_backward);
  return most;
}

NetworkHop lone_hop(const Placement& placement, const std::vector<StageProgram>& programs,
                    std::uint32_t stage, bool forward, const CollectiveTimes& times) {
  const auto stages = static_cast<std::uint32_t>(programs.size());
  NetworkHop hop;
  hop.peer = (stage + (forward ? 1 : stages - 1)) % stages;
  if (stages == 1) return hop;
  hop.flow.bytes = sent_bytes(programs[stage], forward).value();
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
    map.classes.variant.push_back(0);
    map.classes.class_of.push_back(s);
    auto& calls = map.call_of.emplace_back();
    for (const StageCall& call : programs[s].calls) {
      calls.push_back(static_cast<std::uint32_t>(map.calls.size()));
      map.calls.push_back(lone_call(call.group, s, stages, times.alone(placement, call, first)));
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const bool forward = Channel{static_cast<std::uint8_t>(c)} == Channel::output_next;
      map.hops[c].push_back(lone_hop(placement, programs, s, forward, times));
    }
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
                 scenario.orders(),
                 scenario.schedule.p2p,
                 {}})
      .step_time;
}

}  // namespace stepcast
