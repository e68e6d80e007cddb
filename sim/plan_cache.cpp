#include "plan_cache.hpp"

namespace stepcast {

PlanCache::Planned& PlanCache::find(GroupKind group, const CollectiveCall& call, Rank rank) {
  const auto [place, fresh] =
      plans_.try_emplace({group, placement_.group_key(group, rank), call.kind, call.bytes.value()});
  if (fresh) {
    std::vector<DeviceId> devices;
    for (const Rank member : placement_.group(group, rank))
      devices.push_back(placement_.device_of(member));
    place->second.plan = plan_collective(
        fabric_, devices, call, algorithms_.algorithm[static_cast<std::size_t>(call.kind)]);
  }
  return place->second;
}

const CollectivePlan& PlanCache::plan(GroupKind group, const CollectiveCall& call, Rank rank) {
  return find(group, call, rank).plan;
}

const std::vector<PlanCache::Load>& PlanCache::loads(GroupKind group, const CollectiveCall& call,
                                                     Rank rank) {
  Planned& planned = find(group, call, rank);
  if (planned.scanned) return planned.loads;
  planned.scanned = true;
  std::uint32_t flow_index = 0;
  for (const Phase& phase : planned.plan.phases) {
    for (const PhaseFlow& flow : phase.flows) {
      for (const LinkWeight& l : flow.links) {
        if (watched_.contains(l.link)) planned.loads.push_back({flow_index, l.link, l.weight});
      }
      ++flow_index;
    }
  }
  return planned.loads;
}

}  // namespace stepcast
