
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// An expert-tensor group holds one set of experts, so that all of its members send alike.
CollectiveCall StageCall::among(std::span<const std::uint32_t> expert_ranks) const {
  CollectiveCall own = call;
  if (call.skew.factor.empty()) return own;
  expects(!expert_ranks.empty(), "a collective has members");
  own.skew.factor.clear();
  if (group == GroupKind::expert_tensor) {
    own.bytes *= call.skew.factor[expert_ranks.front()];
    return own;
  }
  for (const std::uint32_t e : expert_ranks) own.skew.factor.push_back(call.skew.factor[e]);
  return own;
}

}  // namespace stepcast
