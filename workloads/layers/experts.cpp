#include "dispatcher.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/expert_loads.hpp"

// Sizes of the routed experts on one rank.
namespace stepcast::rows {
namespace {

double sent_tokens(const Shape& shape, const MoeSpec& moe) {
  return moe.group_wise_a2a ? shape.expert_tokens : shape.tokens;
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
      copies{tokens * top_k},
      rows{copies * sharers * layer.load},
      width{static_cast<double>(spec.expert_hidden) / etp},
      hides{layer.moe.overlap == MoeSpec::Overlap::shared_expert && ep > 1 && shared_width() > 0} {
  if (layer.moe.capacity_pad) {
    copies *= capacity_over_mean(layer.moe, sent_tokens(shape, layer.moe) * top_k, count);
    rows = copies * sharers;
  }
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

double Experts::reached_ranks() const { return expected_ranks(spec, ep); }

double Experts::arrived_rows() const {
  return deduplicates() ? rows * reached_ranks() / top_k : rows;
}

}  // namespace stepcast::rows
