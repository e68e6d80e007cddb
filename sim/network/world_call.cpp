#include "world_call.hpp"

#include <algorithm>
#include <map>

#include "job_period.hpp"
#include "pattern_planner.hpp"

namespace stepcast {
namespace {

/// Several NICs may be behind it.
bool of_switch(const Fabric& fabric, LinkId link) {
  return fabric.has_pcie() && info(fabric.link(link).kind).family.owner == LinkOwner::pcie_switch;
}

/// Seconds per byte of a flow that meets nothing. Where a link stands in for others, what the flow
/// puts on it adds up.
double slowest_link(const Fabric& fabric, const PhaseFlow& flow) {
  double slowest = 0;
  std::map<LinkId, double> together;
  const auto load_link = [&](double own_weight, LinkId link) {
    // Only links that stand in for others, or serve several NICs, add up over the flow's own list.
    const bool alone = !fabric.on_detour(link) && !of_switch(fabric, link);
    const double weight = alone ? own_weight : together[link] += own_weight;
    slowest = std::max(slowest, weight / fabric.link(link).bandwidth.value());
  };
  const auto load_with_pcie = [&](double weight, LinkId link) {
    load_link(weight, link);
    for (const LinkId more : fabric.over_pcie(link)) load_link(weight, more);
  };
  for (const LinkWeight& use : flow.links) {
    const std::vector<LinkId>* detour = fabric.detour(use.link);
    if (detour == nullptr) load_with_pcie(use.weight, use.link);
    for (std::size_t d = 0; detour != nullptr && d < detour->size(); ++d)
      load_with_pcie(use.weight, (*detour)[d]);
  }
  return slowest;
}

/// Rank r lives on device r, so that the world repeats as the fabric does.
std::size_t world_period(const NetworkMapInput& input) {
  // Failures break the repetition, and a period must fit into the world.
  const auto period = static_cast<std::size_t>(fabric_period(input.fabric));
  return input.fabric.intact() && input.placement.world() % period == 0 ? period : 0;
}

}  // namespace

NetworkCall lone_world_call(const NetworkMapInput& input, StageCall stage_call) {
  std::vector<DeviceId> devices;
  devices.reserve(input.placement.world());
  for (std::uint32_t r = 0; r < input.placement.world(); ++r)
    devices.push_back(input.placement.device_of(Rank{r}));
  // Links of one period say all: others are loaded alike.
  stage_call.call.period = world_period(input);
  const CollectivePlan plan = plan_call(input, devices, stage_call, NetworkForm::ports);
  NetworkCall call{plan.algorithm, timed_phases(plan, input.fabric)};
  // All meet: it is no class of groups.
  call.group = NetworkCall::no_group;
  call.held = held_by(input.fabric, devices, stage_call);
  call.lone = true;
  // Each phase takes as long as its slowest flow; nothing else is under way.
  for (std::size_t p = 0; p < plan.phases.size(); ++p) {
    const std::vector<PhaseFlow>& flows = plan.phases[p].flows;
    double slowest = 0;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      NetworkFlow& flow = call.phases[p][f];
      flow.alone = flow.bytes * slowest_link(input.fabric, flows[f]);
      slowest = std::max(slowest, flow.latency + flow.alone);
    }
    call.alone += slowest;
  }
  call.one_group = call.alone;
  return call;
}

}  // namespace stepcast
