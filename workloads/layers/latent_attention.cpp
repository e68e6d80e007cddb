#include "rows.hpp"

namespace stepcast::rows {

namespace {

/// Down projections are replicated and run on the sequence shard; up projections are
/// column-parallel.
struct Latent {
  Latent(const LayerContext& context, const LatentAttention& a)
      : shape{context},
        heads{static_cast<double>(a.heads) / shape.tp},
        nope{static_cast<double>(a.nope_dim)},
        rope{static_cast<double>(a.rope_dim)},
        value{static_cast<double>(a.v_dim)},
        q_rank{static_cast<double>(a.q_lora_rank)},
        kv_rank{static_cast<double>(a.kv_lora_rank)} {}

  bool compressed_q() const { return q_rank > 0; }
  double q_width() const { return heads * (nope + rope); }
  Linear q_down() const { return {"q down", shape.shard, shape.hidden, q_rank}; }
  Linear q_up() const { return {"q up", shape.tokens, q_rank, q_width()}; }
  Linear q() const { return {"q", shape.tokens, shape.hidden, q_width()}; }
  Linear kv_down() const { return {"kv down", shape.shard, shape.hidden, kv_rank + rope}; }
  Linear kv_up() const { return {"kv up", shape.tokens, kv_rank, heads * (nope + value)}; }
  Linear out() const { return {"attention out", shape.tokens, heads * value, shape.hidden}; }
  Core core() const {
    return {heads, nope + rope, value, q_width(), q_width(), heads * value, heads * value};
  }
  Operator rotate(std::string name) const {
    const double count = shape.tokens * (heads * rope + rope);
    return vector_row(std::move(name), 6 * count, 2 * element * count);
  }
  double rope_bytes() const { return element * shape.tokens * rope; }

  Shape shape;
  double heads, nope, rope, value, q_rank, kv_rank;
};

void rope_exchange(LayerItems& items, const Latent& l, const char* name, CollectiveKind kind) {
  if (l.shape.sequence_parallel)
    communicate(items, name, GroupKind::tensor, l.shape.tp, kind, l.rope_bytes());
}

}  // namespace

void latent_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention) {
  const Latent l{context, attention};
  if (l.compressed_q()) {
    items.push_back(forward(l.q_down()));
    items.push_back(norm_forward(context.model, "q norm", l.shape.shard * l.q_rank));
    column_forward(items, l.shape, l.q_up());
  } else {
    column_forward(items, l.shape, l.q());
  }
  items.push_back(forward(l.kv_down()));
  items.push_back(norm_forward(context.model, "kv norm", l.shape.shard * l.kv_rank));
  rope_exchange(items, l, "all_gather k rope", CollectiveKind::all_gather);
  column_forward(items, l.shape, l.kv_up());
  items.push_back(l.rotate("rope"));
  core_forward(items, context, l.core());
  row_forward(items, l.shape, l.out());
}

void latent_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention) {
  const Latent l{context, attention};
  row_backward(backward, l.shape, l.out());
  core_backward(backward, context, l.core());
  backward.add_input(l.rotate("rope backward"));
  column_backward(backward, l.shape, l.kv_up());
  LayerItems rope;
  rope_exchange(rope, l, "reduce_scatter k rope gradient", CollectiveKind::reduce_scatter);
  backward.add_input(rope);
  backward.add_input(norm_backward(context.model, "kv norm", l.shape.shard * l.kv_rank));
  backward.add_input(input_gradient(l.kv_down()));
  backward.add_weight(weight_gradient(l.kv_down(), l.shape.gradient_bytes));
  if (!l.compressed_q()) return column_backward(backward, l.shape, l.q());
  column_backward(backward, l.shape, l.q_up());
  backward.add_input(norm_backward(context.model, "q norm", l.shape.shard * l.q_rank));
  backward.add_input(input_gradient(l.q_down()));
  backward.add_weight(weight_gradient(l.q_down(), l.shape.gradient_bytes));
}

}  // namespace stepcast::rows
