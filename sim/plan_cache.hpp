#pragma once
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast {

/// Plans of collectives by group and call: equal calls of one group share one plan, and of what a
/// plan loads only the links that somebody asks for are kept at hand.
class PlanCache {
 public:
  PlanCache(const Placement& placement, const Fabric& fabric, const CollectiveChoice& algorithms)
      : placement_{placement}, fabric_{fabric}, algorithms_{algorithms} {}

  /// Weight of one flow of the plan (counted over its phases) on a watched link.
  struct Load {
    std::uint32_t flow;
    LinkId link;
    double weight;
  };

  const CollectivePlan& plan(GroupKind group, const CollectiveCall& call, Rank rank);
  /// What the plan puts on the watched links.
  const std::vector<Load>& loads(GroupKind group, const CollectiveCall& call, Rank rank);
  /// Fixes the links that loads() tells of; before its first call.
  void watch(std::set<LinkId> links) { watched_ = std::move(links); }

 private:
  struct Planned {
    CollectivePlan plan;
    std::vector<Load> loads;
    bool scanned = false;
  };
  Planned& find(GroupKind group, const CollectiveCall& call, Rank rank);

  const Placement& placement_;
  const Fabric& fabric_;
  const CollectiveChoice& algorithms_;
  std::set<LinkId> watched_;
  std::map<std::tuple<GroupKind, std::uint64_t, CollectiveKind, double>, Planned> plans_;
};

}  // namespace stepcast
