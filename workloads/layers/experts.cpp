#include <algorithm>
#include <cmath>
#include <numeric>

#include "dispatcher.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/expert_loads.hpp"

// Sizes of the routed experts on one rank.
namespace stepcast::rows {
namespace {

double sent_tokens(const Shape& shape, const MoeSpec& moe) {
  return moe.group_wise_a2a ? shape.expert_tokens : shape.tokens;
}

/// Part of the pairs that no capacity drops; where rows are padded to it, all places travel.
double kept_pairs(const LayerContext& layer) {
  if (layer.loads == nullptr || !layer.moe.capacity_factor || layer.moe.capacity_pad) return 1;
  const std::vector<double>& loads = layer.loads->of_rank;
  return std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
}

/// How often a token goes to a part that has `load` times the even share: as if its experts were
/// drawn one by one, as many as give the expected number of parts where all are even.
double visits(double even, double parts, double load) {
  if (parts <= 1 || even >= parts) return 1;
  // even = parts (1 - (1 - 1 / parts)^draws)
  const double draws = std::log1p(-even / parts) / std::log1p(-1 / parts);
  return 1 - std::pow(std::max(0.0, 1 - load / parts), draws);
}

}  // namespace

Experts::Experts(const LayerContext& layer, double pieces)
    : context{layer},
      shape{layer},
      spec{*layer.model.moe},
      form{form_of(layer.moe.dispatcher)},
      kind{layer.model.ffn.kind},
      ep{static_cast<double>(layer.plan.ep)},
      etp{static_cast<double>(layer.plan.etp)},
      sharers{whole() ? 1 : etp},
      top_k{static_cast<double>(spec.top_k)},
      count{static_cast<double>(spec.experts)},
      local{count / ep * active_experts(layer.model, layer.training, layer.moe) +
            static_cast<double>(layer.moe.spare_experts)},
      tokens{sent_tokens(shape, layer.moe) / pieces},
      kept{kept_pairs(layer)},
      copies{tokens * top_k * kept},
      rows{tokens * top_k * sharers * layer.load},
      width{static_cast<double>(spec.expert_hidden) / etp},
      hides{layer.moe.overlap == MoeSpec::Overlap::shared_expert && ep > 1 && shared_width() > 0} {
  // Padded to the capacity, every place travels and is computed, full or not.
  if (layer.moe.capacity_pad) {
    copies *= capacity_over_mean(layer.moe, sent_tokens(shape, layer.moe) * top_k, count);
    rows = copies * sharers;
  }
  // Only dispatches in two hops know parts of an expert group.
  if (!layer.moe.cuts_groups()) return;
  inner = static_cast<double>(group_size(layer.plan, GroupKind::expert_inner));
  outer = ep / inner;
}

bool Experts::deduplicates() const {
  return context.moe.dispatch == MoeSpec::Dispatch::two_hop_dedup && ep > 1;
}

bool Experts::weighs_at_home() const {
  const bool whole = !cut() || context.moe.dispatch == MoeSpec::Dispatch::two_hop;
  return form == nullptr && !gathers() && !deduplicates() && whole;
}

double Experts::reached_parts(double load) const {
  const double even = expected_parts(outer, count, top_k, most_parts(spec, outer));
  return load == 1 ? even : outer * visits(even, outer, load);
}

double Experts::reached_ranks() const {
  const double even = expected_ranks(spec, ep);
  return kept == 1 ? even : ep * visits(even, ep, kept);
}

double Experts::arrived_rows() const {
  return deduplicates() ? rows * reached_ranks() / (top_k * kept) : rows;
}

std::vector<double> Experts::rank_shares() const {
  if (context.loads == nullptr || context.loads->even()) return {};
  std::vector<double> shares = context.loads->of_rank;
  // Loads count what is left after drops; shares are of the rows that travel.
  for (double& share : shares) share /= kept;
  return shares;
}

}  // namespace stepcast::rows
