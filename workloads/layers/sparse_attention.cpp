#include "attention_cores.hpp"
#include "layers.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"

// Latent attention to the tokens that an indexer chooses. docs/models/sparse_attention.md.
namespace stepcast::rows {

namespace {

/// Keys and values of a token are its latent, which all heads share: the matrices that would make
/// heads of it are applied to queries and outputs instead.
struct Sparse {
  Sparse(const LayerContext& context, const LatentAttention& a)
      : shape{context},
        chosen{shape.sequences, shape.length, static_cast<double>(a.index_top_k)},
        heads{static_cast<double>(a.heads) / shape.tp},
        nope{static_cast<double>(a.nope_dim)},
        rope{static_cast<double>(a.rope_dim)},
        value{static_cast<double>(a.v_dim)},
        q_rank{static_cast<double>(a.q_lora_rank)},
        rank{static_cast<double>(a.kv_lora_rank)},
        index_heads{static_cast<double>(a.index_heads)},
        index_dim{static_cast<double>(a.index_dim)} {}

  double key() const { return rank + rope; }
  Linear q_down() const { return {"q down", shape.shard, shape.hidden, q_rank}; }
  Linear q_up() const { return {"q up", shape.tokens, q_rank, heads * (nope + rope)}; }
  Linear kv_down() const { return {"kv down", shape.shard, shape.hidden, key()}; }
  Linear out() const { return {"attention out", shape.tokens, heads * value, shape.hidden}; }
  Linear index_q() const { return {"index q", shape.tokens, q_rank, index_heads * index_dim}; }
  Linear index_k() const { return {"index k", shape.tokens, shape.hidden, index_dim}; }
  Linear index_weights() const {
    return {"index weights", shape.tokens, shape.hidden, index_heads, true};
  }
  double rotated() const { return shape.tokens * (heads + 1) * rope; }
  double index_width() const { return (index_heads + 1) * index_dim; }
  double index_rotated() const { return shape.tokens * (index_heads + 1) * rope; }
  double chosen_scores() const { return shape.tokens * chosen.twice_chosen() / 2; }

  Shape shape;
  ChosenTokens chosen;
  double heads, nope, rope, value, q_rank, rank, index_heads, index_dim;
};

/// Moves latents between the sequence shards of a tensor group and its ranks.
void share_latents(LayerItems& items, const Sparse& s, const char* name, CollectiveKind kind) {
  communicate(items, name, GroupKind::tensor, s.shape.tp, kind, element * s.shape.tokens * s.key());
}

/// Every tensor rank runs the indexer whole, on all tokens (Megatron-LM, `dsa.py`).
void gather_index_inputs(LayerItems& items, const Sparse& s) {
  if (!s.shape.sequence_parallel) return;
  const double bytes = element * s.shape.tokens;
  communicate(items, "all_gather index hidden in", GroupKind::tensor, s.shape.tp,
              CollectiveKind::all_gather, bytes * s.shape.hidden);
  communicate(items, "all_gather index q latents", GroupKind::tensor, s.shape.tp,
              CollectiveKind::all_gather, bytes * s.q_rank);
}

ModelSpec with_layer_norm() {
  ModelSpec model;
  model.norm = ModelSpec::Norm::layer;
  return model;
}

/// A Hadamard transform of queries and keys spreads what FP8 would cut off.
Operator rotation(const Sparse& s, const char* name) {
  const double count = s.shape.tokens * s.index_width();
  return vector_row(name, 2 * count, 2 * element * count);
}

void indexer_forward(LayerItems& items, const Sparse& s) {
  // DeepSeek-V3.2's indexer: queries and one key for all heads, a norm of the key, rotations, then
  // a score of each pair and a top-k per query.
  gather_index_inputs(items, s);
  items.push_back(forward(s.index_q()));
  items.push_back(forward(s.index_k()));
  items.push_back(norm_forward(with_layer_norm(), "index k norm", s.shape.tokens * s.index_dim));
  items.push_back(rope_forward(s.index_rotated()));
  items.push_back(rotation(s, "index rotation"));
  items.push_back(forward(s.index_weights()));
  items.push_back(index_scores(s.chosen, s.index_heads, s.index_dim, false));
  items.push_back(index_top_k(s.chosen));
}

/// The indexer learns what the heads look at, summed over all of them.
void target_forward(LayerItems& items, const Sparse& s) {
  Operator target = sparse_attention(s.chosen, s.heads, s.key(), 0, false);
  target.name = "index target";
  target.bytes += Bytes{fp32 * s.chosen_scores()};
  items.push_back(target);
  communicate(items, "all_reduce index target", GroupKind::tensor, s.shape.tp,
              CollectiveKind::all_reduce, fp32 * s.chosen_scores());
  items.push_back(vector_row("index loss", 6 * s.chosen_scores(), 3 * fp32 * s.chosen_scores()));
}

/// What recomputation of the attention core runs again.
void chosen_forward(LayerItems& items, const Sparse& s) {
  indexer_forward(items, s);
  items.push_back(sparse_attention(s.chosen, s.heads, s.key(), s.rank, false));
  target_forward(items, s);
}

/// Nothing goes back into the inputs of the indexer: they are detached.
void indexer_backward(Backward& backward, const Sparse& s) {
  const double bytes = s.shape.gradient_bytes;
  backward.add_input(
      vector_row("index loss backward", 4 * s.chosen_scores(), 3 * fp32 * s.chosen_scores()));
  backward.add_input(index_scores(s.chosen, s.index_heads, s.index_dim, true));
  backward.add_input(rotation(s, "index rotation backward"));
  backward.add_input(rope_backward(s.index_rotated()));
  backward.add_input(
      norm_backward(with_layer_norm(), "index k norm", s.shape.tokens * s.index_dim));
  for (const Linear& linear : {s.index_q(), s.index_k(), s.index_weights()})
    backward.add_weight(weight_gradient(linear, bytes));
}

/// Of `heads` matrices [in x out].
Operator absorb_weight_gradient(const Sparse& s, const char* name, double in, double out) {
  Operator op = batched_product(name, s.heads, in, out, s.shape.tokens);
  op.accumulated = s.heads * in * out;
  op.bytes += Bytes{(2 * s.shape.gradient_bytes - element) * op.accumulated};
  return op;
}

Operator absorb_q(const Sparse& s) {
  return batched_product("q absorb", s.heads, s.shape.tokens, s.rank, s.nope);
}

Operator absorb_value(const Sparse& s) {
  return batched_product("value absorb", s.heads, s.shape.tokens, s.value, s.rank);
}

void absorb_backward(Backward& backward, const Sparse& s, bool query) {
  const std::string name = query ? "q absorb" : "value absorb";
  const double in = query ? s.nope : s.rank, out = query ? s.rank : s.value;
  backward.add_input(batched_product(name + " dgrad", s.heads, s.shape.tokens, in, out));
  backward.add_weight(absorb_weight_gradient(s, (name + " wgrad").c_str(), in, out));
}

void downs_backward(Backward& backward, const LayerContext& context, const Sparse& s) {
  const auto down = [&](const Linear& linear, const char* norm, double rank) {
    backward.add_input(norm_backward(context.model, norm, s.shape.shard * rank));
    backward.add_input(input_gradient(linear));
    backward.add_weight(weight_gradient(linear, s.shape.gradient_bytes));
  };
  LayerItems items;
  // With sequence parallelism each rank keeps its shard of the latents, and the sum is scattered;
  // without it each needs the whole.
  const bool scatters = s.shape.sequence_parallel;
  share_latents(items, s,
                scatters ? "reduce_scatter latents gradient" : "all_reduce latents gradient",
                scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce);
  backward.add_input(items);
  down(s.kv_down(), "kv norm", s.rank);
  column_backward(backward, s.shape, s.q_up());
  down(s.q_down(), "q norm", s.q_rank);
}

}  // namespace

void sparse_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention) {
  const Sparse s{context, attention};
  items.push_back(forward(s.q_down()));
  items.push_back(norm_forward(context.model, "q norm", s.shape.shard * s.q_rank));
  column_forward(items, s.shape, s.q_up());
  items.push_back(forward(s.kv_down()));
  items.push_back(norm_forward(context.model, "kv norm", s.shape.shard * s.rank));
  if (s.shape.sequence_parallel)
    share_latents(items, s, "all_gather latents", CollectiveKind::all_gather);
  items.push_back(rope_forward(s.rotated()));
  items.push_back(absorb_q(s));
  chosen_forward(items, s);
  items.push_back(absorb_value(s));
  row_forward(items, s.shape, s.out());
}

void sparse_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention) {
  const Sparse s{context, attention};
  row_backward(backward, s.shape, s.out());
  absorb_backward(backward, s, false);
  if (context.training.recomputes(TrainingSpec::Module::core_attn)) {
    LayerItems again;
    chosen_forward(again, s);
    backward.add_input(again);
  }
  backward.add_input(sparse_attention(s.chosen, s.heads, s.key(), s.rank, true));
  indexer_backward(backward, s);
  absorb_backward(backward, s, true);
  backward.add_input(rope_backward(s.rotated()));
  downs_backward(backward, context, s);
}

}  // namespace stepcast::rows
