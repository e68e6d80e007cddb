#include "rows.hpp"

namespace stepcast::rows {

namespace {

Operator routed(Operator op) {
  op.routed = true;
  return op;
}

/// Sizes of the routed experts on one rank.
struct Experts {
  explicit Experts(const LayerContext& context)
      : shape{context},
        spec{*context.model.moe},
        kind{context.model.ffn.kind},
        ep{static_cast<double>(context.plan.ep)},
        etp{static_cast<double>(context.plan.etp)},
        top_k{static_cast<double>(spec.top_k)},
        count{static_cast<double>(spec.experts)},
        local{count / ep},
        copies{shape.expert_tokens * top_k},
        rows{copies * etp * context.load},
        width{static_cast<double>(spec.expert_hidden) / etp},
        hides{context.moe.overlap == MoeSpec::Overlap::shared_expert && ep > 1 &&
              shared_width() > 0} {}

  double shared_width() const {
    return static_cast<double>(spec.shared_experts * spec.shared_hidden);
  }
  double row_bytes(double n) const { return element * n * shape.hidden; }
  bool sorts() const { return ep > 1 && local > 1; }
  Linear router() const { return {"router", shape.expert_tokens, shape.hidden, count}; }
  Linear up() const {
    return {"experts up", rows / local, shape.hidden, projections(kind) * width};
  }
  Linear down() const { return {"experts down", rows / local, width, shape.hidden}; }
  Operator activation() const {
    return routed(activation_forward("experts activation", kind, rows * width));
  }

  Shape shape;
  const ExpertSpec& spec;
  FeedForwardSpec::Kind kind;
  double ep, etp, top_k, count, local;
  double copies;  ///< (token, expert) pairs that the rank sends
  double rows;    ///< pairs that it computes, after the gather over expert_tensor
  double width;
  bool hides;  ///< shared experts run beside the routed ones' all-to-all
};

/// The router computes in fp32.
Operator in_fp32(Operator op) {
  op.bytes *= fp32 / element;
  return op;
}

Operator router_weight_gradient(const Experts& e) {
  const Linear l = e.router();
  const double accumulated = e.shape.gradient_bytes;
  Operator op = weight_gradient(l, accumulated);
  op.bytes = Bytes{fp32 * l.tokens * (l.in + l.out) + 2 * accumulated * l.in * l.out};
  return op;
}

/// Without sequence parallelism the ranks of a tensor group hold the same tokens and each takes its
/// part.
void gather_tokens(LayerItems& items, const Experts& e, const char* name) {
  if (!e.shape.sequence_parallel)
    communicate(items, name, GroupKind::tensor, e.shape.tp, CollectiveKind::all_gather,
                e.row_bytes(e.shape.tokens));
}

LayerCommunication expert_exchange(const Experts& e, const char* name, bool overlap) {
  return {
      name, GroupKind::expert, {CollectiveKind::all_to_all, Bytes{e.row_bytes(e.copies)}}, overlap};
}

void exchange(LayerItems& items, const Experts& e, const char* name) {
  if (e.ep > 1) items.push_back(expert_exchange(e, name, false));
}

void gather_rows(LayerItems& items, const Experts& e, const char* name) {
  communicate(items, name, GroupKind::expert_tensor, e.etp, CollectiveKind::all_gather,
              e.row_bytes(e.copies * e.etp));
}

void reduce_rows(LayerItems& items, const Experts& e, const char* name) {
  communicate(items, name, GroupKind::expert_tensor, e.etp, CollectiveKind::reduce_scatter,
              e.row_bytes(e.copies * e.etp));
}

void sort_rows(LayerItems& items, const Experts& e, const char* name) {
  if (e.sorts()) items.push_back(routed(vector_row(name, 0, 2 * e.row_bytes(e.rows))));
}

void route(LayerItems& items, const Experts& e) {
  const double scores = e.shape.expert_tokens * e.count;
  items.push_back(in_fp32(forward(e.router())));
  items.push_back(vector_row("top-k", 20 * scores, 6 * fp32 * scores));
  items.push_back(vector_row("permute", 0, (1 + e.top_k) * e.row_bytes(e.shape.expert_tokens)));
  if (e.ep <= 1) return;
  communicate(items, "all_to_all expert counts", GroupKind::expert, e.ep,
              CollectiveKind::all_to_all, fp32 * e.count);
  items.push_back(HostReadback{"expert splits"});
}

void shared_forward(LayerItems& items, const LayerContext& context, const Experts& e) {
  if (e.shared_width() > 0)
    feed_forward_forward(items, context, "shared expert", e.kind, e.shared_width());
}

void shared_backward(Backward& backward, const LayerContext& context, const Experts& e) {
  if (e.shared_width() > 0)
    feed_forward_backward(backward, context, "shared expert", e.kind, e.shared_width());
}

void combine_backward(Backward& backward, const LayerContext& context, const Experts& e) {
  LayerItems items;
  items.push_back(vector_row("unpermute backward", 4 * e.copies * e.shape.hidden,
                             (1 + e.top_k) * e.row_bytes(e.shape.expert_tokens)));
  if (e.hides) {
    const LayerCommunication call = expert_exchange(e, "combine backward", true);
    items.push_back(call);
    backward.add_input(items);
    shared_backward(backward, context, e);
    backward.add_input(WaitFor{call.name});
    return;
  }
  backward.add_input(items);
  shared_backward(backward, context, e);
  items.clear();
  exchange(items, e, "combine backward");
  backward.add_input(items);
}

void experts_backward(Backward& backward, const Experts& e) {
  LayerItems items;
  gather_rows(items, e, "all_gather expert gradient");
  sort_rows(items, e, "sort gradient by expert");
  backward.add_input(items);
  backward.add_input(grouped_input_gradient(e.down(), e.local));
  backward.add_weight(grouped_weight_gradient(e.down(), e.local, e.shape.gradient_bytes));
  backward.add_input(routed(activation_backward("experts activation", e.kind, e.rows * e.width)));
  backward.add_input(grouped_input_gradient(e.up(), e.local));
}

void dispatch_backward(Backward& backward, const Experts& e) {
  LayerItems items;
  sort_rows(items, e, "unsort gradient");
  reduce_rows(items, e, "reduce_scatter expert gradient");
  backward.add_input(items);
  const LayerCommunication call = expert_exchange(e, "dispatch backward", e.hides);
  if (e.hides) backward.add_input(call);
  backward.add_weight(grouped_weight_gradient(e.up(), e.local, e.shape.gradient_bytes));
  if (e.hides)
    backward.add_input(WaitFor{call.name});
  else if (e.ep > 1)
    backward.add_input(call);
  backward.add_input(vector_row("permute backward", e.copies * e.shape.hidden,
                                (1 + e.top_k) * e.row_bytes(e.shape.expert_tokens)));
}

}  // namespace

void moe_forward(LayerItems& items, const LayerContext& context) {
  const Experts e{context};
  route(items, e);
  if (e.hides) {
    const LayerCommunication call = expert_exchange(e, "dispatch", true);
    items.push_back(call);
    shared_forward(items, context, e);
    items.push_back(WaitFor{call.name});
  } else {
    exchange(items, e, "dispatch");
  }
  gather_rows(items, e, "all_gather expert rows");
  sort_rows(items, e, "sort by expert");
  items.push_back(grouped_forward(e.up(), e.local));
  items.push_back(e.activation());
  items.push_back(grouped_forward(e.down(), e.local));
  sort_rows(items, e, "unsort");
  reduce_rows(items, e, "reduce_scatter expert rows");
  exchange(items, e, "combine");
  items.push_back(vector_row("unpermute", 2 * e.copies * e.shape.hidden,
                             (1 + e.top_k) * e.row_bytes(e.shape.expert_tokens)));
  gather_tokens(items, e, "all_gather tokens");
  if (!e.hides) shared_forward(items, context, e);
}

void moe_backward(Backward& backward, const LayerContext& context) {
  const Experts e{context};
  combine_backward(backward, context, e);
  experts_backward(backward, e);
  dispatch_backward(backward, e);
  const double scores = e.shape.expert_tokens * e.count;
  backward.add_input(vector_row("top-k backward", 8 * scores, 6 * fp32 * scores));
  backward.add_input(in_fp32(input_gradient(e.router())));
  backward.add_weight(router_weight_gradient(e));
  LayerItems items;
  gather_tokens(items, e, "all_gather tokens gradient");
  backward.add_input(items);
}

}  // namespace stepcast::rows
