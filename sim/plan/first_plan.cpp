#include <algorithm>

#include "enumerate.hpp"
#include "stepcast/sim/plan/plan.hpp"

namespace stepcast {

PlanResult estimate_plan(const PlanSpace& space) {
  std::vector<BaseCosts> costs;
  costs.reserve(space.bases.size());
  for (const PlanBase& base : space.bases) costs.emplace_back(base);
  Enumeration all = enumerate(space, costs);
  PlanResult result;
  result.shortlist = std::move(all.kept);
  result.counts = std::move(all.counts);
  result.nearest = all.nearest;
  if (!result.shortlist.empty()) return result;
  const auto& reasons = result.counts.infeasible;
  // Sizes that do not go together are left out of any list; what is too large could fit elsewhere.
  const auto full = std::ranges::find_if(
      reasons, [](const auto& reason) { return reason.first.starts_with("memory"); });
  const auto most =
      std::ranges::max_element(reasons, {}, [](const auto& reason) { return reason.second; });
  result.tightest = result.nearest          ? "memory"
                    : full != reasons.end() ? full->first
                    : most == reasons.end() ? "the space is empty"
                                            : most->first;
  return result;
}

}  // namespace stepcast
