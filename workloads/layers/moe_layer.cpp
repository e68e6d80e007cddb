#include "dispatcher.hpp"
#include "feed_forward.hpp"
#include "layers.hpp"

// A feed-forward part with experts: router, routed experts and shared ones.
namespace stepcast::rows {

namespace {

/// Without sequence parallelism the ranks of a tensor group hold the same tokens and each takes its
/// part.
void gather_tokens(LayerItems& items, const Experts& e, const char* name) {
  if (!e.whole() && !e.shape.sequence_parallel)
    communicate(items, name, GroupKind::tensor, e.shape.tp, CollectiveKind::all_gather,
                e.row_bytes(e.shape.tokens));
}

/// Ranks that exchange the rows of all tokens of their tensor group need these, and add up what
/// each found of their gradients.
void share_tokens(LayerItems& items, const Experts& e, const char* name, CollectiveKind kind) {
  if (e.whole() && e.shape.sequence_parallel)
    communicate(items, name, GroupKind::tensor, e.shape.tp, kind, e.row_bytes(e.shape.tokens));
}

/// One column decides how much of the shared experts' output counts.
void shared_gate_forward(LayerItems& items, const Experts& e) {
  if (!e.spec.shared_gate) return;
  const double count = e.shape.shard * e.shape.hidden;
  items.push_back(vector_row("shared experts gate", 3 * count, 4 * element * count));
}

void shared_gate_backward(Backward& backward, const Experts& e) {
  if (!e.spec.shared_gate) return;
  const double count = e.shape.shard * e.shape.hidden;
  backward.add_input(vector_row("shared experts gate backward", 6 * count, 6 * element * count));
}

void shared_forward(LayerItems& items, const Experts& e) {
  if (e.shared_width() <= 0) return;
  captured(items, e.context.captures(GraphScope::shared_experts),
           [&] { feed_forward_forward(items, e.context, shared_name, e.kind, e.shared_width()); });
}

void shared_backward(Backward& backward, const Experts& e) {
  if (e.shared_width() <= 0) return;
  // Recomputed before its backward and outside the graph, which holds the backward alone.
  if (e.context.training.recomputes(TrainingSpec::Module::shared_experts)) {
    LayerItems items;
    shared_forward(items, e);
    add_again(backward, items);
  }
  captured(backward, e.context.captures(GraphScope::shared_experts), [&] {
    feed_forward_backward(backward, e.context, shared_name, e.kind, e.shared_width());
  });
}

}  // namespace

void moe_forward(LayerItems& items, const LayerContext& context) {
  const Experts e{context, 1};
  captured(items, context.captures(GraphScope::moe), [&] {
    share_tokens(items, e, "all_gather tokens", CollectiveKind::all_gather);
    // Where the shared expert could start: it reads the tokens and nothing that the router makes.
    const std::size_t inputs = items.size();
    captured(items, context.captures(GraphScope::moe_router), [&] { router_forward(items, e); });
    routed_forward(items, e);
    gather_tokens(items, e, "all_gather tokens");
    const std::size_t shared = items.size();
    // Hidden behind the exchange, it is in routed_forward() already.
    if (!e.hides) shared_forward(items, e);
    may_stand_ahead(items, shared, inputs);
    shared_gate_forward(items, e);
  });
}

void moe_backward(Backward& backward, const LayerContext& context) {
  const Experts e{context, 1};
  captured(backward, context.captures(GraphScope::moe), [&] {
    shared_gate_backward(backward, e);
    // Places are noted, so that a layer order that overlaps can move the shared expert to them.
    BackwardPlace shared{backward}, behind_shared{backward};
    routed_backward(backward, e, [&] {
      shared = BackwardPlace{backward};
      if (!e.hides) shared_backward(backward, e);
      behind_shared = BackwardPlace{backward};
    });
    const BackwardPlace router{backward};
    captured(backward, context.captures(GraphScope::moe_router),
             [&] { router_backward(backward, e); });
    if (e.weighs_at_home()) may_stand_ahead(backward, router, shared);
    LayerItems items;
    share_tokens(items, e, "reduce_scatter tokens gradient", CollectiveKind::reduce_scatter);
    gather_tokens(items, e, "all_gather tokens gradient");
    backward.add_input(items);
    may_stand_behind(backward, shared, behind_shared);
  });
}

}  // namespace stepcast::rows

namespace stepcast {

Passes expert_module(const LayerContext& context) {
  const rows::Experts experts{context, 1};
  // The module alone, as component tables measure it: no router, no norm, no residual.
  Passes passes;
  rows::Backward backward{context};
  rows::routed_forward(passes.forward, experts);
  rows::routed_backward(backward, experts, [] {});
  passes.backward = std::move(backward.both);
  passes.backward_input = std::move(backward.input);
  passes.backward_weight = std::move(backward.weight);
  return passes;
}

}  // namespace stepcast
