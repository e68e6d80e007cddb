#include <algorithm>
#include <tuple>

#include "job_graph.hpp"
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {
namespace {

/// The class of the group, and how many of the stages' first ranks meet in it.
std::pair<std::uint32_t, std::uint32_t> meeting(const StageCall& call, std::uint32_t stage,
                                                std::uint32_t stages) {
  // A copy to the host is a matter of one rank.
  if (call.over_host_link()) return {stage, 1};
  const GroupKindInfo group = info(call.group);
  switch (group.form) {
    // Groups over stages are one class for all, as many arrive as there are stages.
    case GroupForm::grid:
      if (group.over.pp) return {stages, stages};
      break;
    case GroupForm::ends:
      // First and last stage; a pipeline of one stage has only itself.
      return {stages, std::min(2U, stages)};
    case GroupForm::mirror: {
      const std::uint32_t other = stages - 1 - stage;
      return {std::min(stage, other), stage == other ? 1 : 2};
    }
    // Members inside a stage are one class: its first rank arrives for all of them.
    case GroupForm::experts:
    case GroupForm::expert_part:
      break;
  }
  return {stage, 1};
}

/// Members that other stages hold do arrive, because waiting for a later stage is part of the
/// bound.
NetworkCall lone_call(const StageCall& call, std::uint32_t stage, std::uint32_t stages,
                      double alone) {
  NetworkCall lone;
  std::tie(lone.group, lone.arrivals) = meeting(call, stage, stages);
  lone.lone = true;
  lone.alone = alone;
  return lone;
}

/// The path stays empty, which is what keeps the engine out.
NetworkHop lone_hop(const NetworkMapInput& input, Stage stage, Channel channel,
                    const CollectiveTimes& times) {
  NetworkHop hop;
  const Stage peer = neighbour_stage(input, stage, channel);
  hop.peer = peer.value;
  const auto bytes = channel_bytes(input, stage, channel);
  // A stage that sends to itself, or nothing on that channel, has no transfer.
  if (peer == stage || !bytes) return hop;
  hop.flow.bytes = bytes->value();
  const CollectiveTimes::Hop time =
      times.hop(input.placement.first_of(stage), input.placement.first_of(peer), hop.flow.bytes);
  hop.flow.latency = time.latency;
  hop.flow.alone = time.alone;
  return hop;
}

}  // namespace

/// The first rank of a stage stands for all: without contention they differ in nothing but their
/// links.
NetworkMap map_without_contention(const Placement& placement,
                                  const std::vector<StageProgram>& programs,
                                  CollectiveTimes& times) {
  NetworkMap map;
  const NetworkMapInput input{placement, times.fabric(), programs, times.choice()};
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
      // Every stage has its own entry for a call; members meet by the number of its group.
      map.calls.push_back(lone_call(call, s, stages, times.alone(placement, call, first)));
      map.calls.back().held = times.held(placement, call, first);
    }
    for (std::uint8_t c = 0; c < channels; ++c)
      map.hops[c].push_back(lone_hop(input, Stage{s}, Channel{c}, times));
  }
  return map;
}

}  // namespace stepcast
