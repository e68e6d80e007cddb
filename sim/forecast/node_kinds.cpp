#include "node_kinds.hpp"

#include <algorithm>
#include <set>

#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/link_faults.hpp"
#include "stepcast/sim/replay/spread.hpp"

namespace stepcast {
namespace {

bool sends(const std::vector<StageProgram>& programs) { return programs.size() > 1; }

GroupReach reach_of(GroupKind kind, const Scenario& scenario, const Fabric& fabric,
                    const Placement& placement) {
  GroupReach reach{name(kind), {}};
  Locality widest = Locality::device;
  std::set<std::uint64_t> seen;
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    // Each group once, by its key.
    if (!seen.insert(placement.group_key(kind, Rank{r})).second) continue;
    const std::vector<Rank> members = placement.group(kind, Rank{r});
    std::set<std::uint32_t> kinds;
    for (const Rank member : members) {
      const DeviceId device = placement.device_of(member);
      kinds.insert(scenario.cluster.kind_of(device.value));
      // From the first member, since locality to it bounds that between any two.
      widest = std::max(widest, fabric.locality(placement.device_of(members.front()), device));
    }
    ++reach.groups;
    reach.mixed += kinds.size() > 1;
  }
  reach.fabric = name(widest);
  return reach;
}

}  // namespace

Fabric fabric_of(const Scenario& scenario) {
  const Fabric intact(scenario.cluster);
  // Slow kinds, stalls and spread each leave their part of a link.
  LinkFaults faults = links_of_kinds(intact);
  const LinkFaults stalled = link_faults(scenario.stalls, intact);
  for (const auto& [link, factor] : stalled.bandwidth_factor) {
    const auto [place, fresh] = faults.bandwidth_factor.try_emplace(link, factor);
    if (!fresh) place->second *= factor;
  }
  if (scenario.stalls.spread) {
    const auto spread = spread_bandwidths(*scenario.stalls.spread, intact.link_count());
    for (const auto& [link, factor] : spread) {
      const auto [place, fresh] = faults.bandwidth_factor.try_emplace(link, factor);
      if (!fresh) place->second *= factor;
    }
  }
  faults.detour = stalled.detour;
  return Fabric(scenario.cluster, faults);
}

std::optional<KindPrograms> kind_programs(const Scenario& scenario, const LayerTable& layers,
                                          const Placement& placement) {
  const ClusterSpec& cluster = scenario.cluster;
  if (cluster.kinds.empty()) return {};
  KindPrograms result;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    // Programs of a kind are those of a cluster of that kind alone: only times differ.
    Scenario alone = scenario;
    alone.cluster = cluster.as_kind(k);
    result.programs.push_back(stage_programs(alone, layers));
    result.hosts.push_back(cluster.kinds[k].host);
  }
  for (std::uint32_t r = 0; r < placement.world(); ++r)
    result.of_rank.push_back(cluster.kind_of(placement.device_of(Rank{r}).value));
  return result;
}

MemoryBudget tightest_memory(const Scenario& scenario, const LayerTable& layers, Stage stage,
                             const std::vector<std::vector<double>>& moments, double fullest) {
  const ClusterSpec& cluster = scenario.cluster;
  if (cluster.kinds.empty()) {
    MemoryBudget budget = stage_memory(scenario.workload, layers, cluster, stage, moments, fullest);
    // Measured counts of the whole device include what the allocator caches.
    if (scenario.expect && scenario.expect->memory_count == MemoryCount::device)
      add_cached(budget, scenario.workload, layers, stage, moments);
    return budget;
  }
  const Placement placement(scenario.workload.plan);
  std::set<std::uint32_t> kinds;
  // A budget per kind that the stage has, not per rank.
  for (std::uint32_t r = 0; r < placement.world(); ++r)
    if (placement.stage_of(Rank{r}) == stage)
      kinds.insert(cluster.kind_of(placement.device_of(Rank{r}).value));
  // What does not fit beside the host says more than the room on a device.
  const auto room = [](const MemoryBudget& budget) {
    return std::pair{budget.fits_host(), budget.capacity - budget.peak()};
  };
  std::optional<MemoryBudget> tightest;
  for (const std::uint32_t kind : kinds) {
    const MemoryBudget budget =
        stage_memory(scenario.workload, layers, cluster.as_kind(kind), stage, moments, fullest);
    if (!tightest || room(budget) < room(*tightest)) tightest = budget;
  }
  return *tightest;
}

std::vector<GroupReach> group_fabrics(const Scenario& scenario, const Fabric& fabric,
                                      const Placement& placement,
                                      const std::vector<StageProgram>& programs) {
  std::vector<GroupReach> result;
  for (std::size_t k = 0; k < group_kinds; ++k) {
    const auto kind = static_cast<GroupKind>(k);
    if (kind == GroupKind::pipeline ? sends(programs) : uses_group(programs, kind))
      result.push_back(reach_of(kind, scenario, fabric, placement));
  }
  return result;
}

}  // namespace stepcast
