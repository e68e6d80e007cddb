#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "attention_cores.hpp"
#include "layers.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"

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
        kv_rank{static_cast<double>(a.kv_lora_rank)},
        in_statements{context.rope == KernelSpec::Rope::unfused} {
    if (context.training.attention_head)
      padded = static_cast<double>(*context.training.attention_head);
    in_statements = in_statements && !padded;
  }

  bool compressed_q() const { return q_rank > 0; }
  double q_width() const { return heads * (nope + rope); }
  Linear q_down() const { return {"q down", shape.shard, shape.hidden, q_rank}; }
  Linear q_up() const { return {"q up", shape.tokens, q_rank, q_width()}; }
  Linear q() const { return {"q", shape.tokens, shape.hidden, q_width()}; }
  Linear kv_down() const { return {"kv down", shape.shard, shape.hidden, kv_rank + rope}; }
  Linear kv_up() const { return {"kv up", shape.tokens, kv_rank, heads * (nope + value)}; }
  Linear out() const { return {"attention out", shape.tokens, heads * value, shape.hidden}; }
  Core core() const {
    if (!padded)
      return {heads, nope + rope, value, q_width(), q_width(), heads * value, heads * value};
    const double width = heads * *padded;
    return {heads, *padded, *padded, width, width, width, width};
  }
  double rotated() const { return shape.tokens * (heads * rope + rope); }
  double rope_bytes() const { return element * shape.tokens * rope; }

  Shape shape;
  double heads, nope, rope, value, q_rank, kv_rank;
  bool in_statements;            ///< what stands around the rotation, without Megatron-LM's kernels
  std::optional<double> padded;  ///< size of all heads, where the kernel wants one
};

/// A kernel that reads and writes so many elements per token.
Operator moves(const Latent& l, std::string name, double read, double written) {
  return vector_row(std::move(name), 0, element * l.shape.tokens * (read + written));
}

/// What the core reads of keys and values, dense: the rotary key stands behind the plain part of
/// every head. Megatron-LM, fused_mla_yarn_rope_apply.py; backward the same the other way.
void join_keys(LayerItems& items, const Latent& l, const char* name) {
  if (l.padded || l.in_statements) return;  // below
  const double projected = l.heads * (l.nope + l.value);
  items.push_back(moves(l, name, projected + l.rope, projected + l.heads * l.rope));
}

/// Query, key and value heads of one size from what the projections leave: halves of the rotary
/// parts put in order, parts copied to be dense, joined and padded. MindSpeed-LLM,
/// multi_head_latent_attention.py.
void pad_heads(LayerItems& items, const Latent& l) {
  if (!l.padded) return;
  const double a = l.heads, plain = a * l.nope, rotary = a * l.rope, value = a * l.value;
  const double joined = plain + rotary, wide = a * *l.padded;
  for (const auto& [name, read, written] : {std::tuple{"q copy", plain, plain},
                                            {"q join", joined, joined},
                                            {"k rope repeat", l.rope, rotary},
                                            {"k copy", plain, plain},
                                            {"k join", joined, joined},
                                            {"q pad", joined, wide},
                                            {"k pad", joined, wide},
                                            {"v copy", value, value},
                                            {"v pad", value, wide}})
    items.push_back(moves(l, name, read, written));
}

/// Cos and sin of the angles, scaled and cast, which each rotation makes anew for itself.
void angles(LayerItems& items, const Latent& l, const std::string& of) {
  for (const char* what : {" cos", " sin"})
    for (const auto& [step, bytes] : {std::pair{"", fp32 + fp32}, std::pair{" scale", fp32 + fp32},
                                      std::pair{" cast", fp32 + element}})
      items.push_back(vector_row(of + what + step, 0, bytes * l.shape.tokens * l.rope));
}

/// What the core reads, in Megatron-LM's statements behind a rotation of PyTorch: the rotary parts
/// joined to the plain ones, the shared rotary key to each head's, and values made dense
/// (multi_latent_attention.py, rope_utils.py).
void join_heads(LayerItems& items, const Latent& l) {
  if (!l.in_statements) return;
  const double a = l.heads, plain = a * l.nope, joined = a * (l.nope + l.rope);
  items.push_back(moves(l, "q join", joined, joined));
  items.push_back(moves(l, "k join", plain + l.rope, joined));
  items.push_back(moves(l, "v copy", a * l.value, a * l.value));
}

/// As autograd differentiates halves that were taken by a stride: zeros and a copy for each, and a
/// sum.
void order_rotary_backward(LayerItems& items, const Latent& l) {
  if (!l.in_statements) return;
  for (const auto& [name, width] :
       {std::pair{"q rope", l.heads * l.rope}, std::pair{"k rope", l.rope}}) {
    const std::string of = name;
    for (const char* half : {" even", " odd"}) {
      items.push_back(moves(l, of + half + " zeros", 0, width));
      items.push_back(moves(l, of + half + " gradient", width / 2, width / 2));
    }
    items.push_back(moves(l, of + " gradient sum", 2 * width, width));
  }
}

/// Whether the rotary halves stand in turn and are put in order first.
bool orders_rotary(const Latent& l) { return l.padded || l.in_statements; }

void order_rotary(LayerItems& items, const Latent& l, const char* q, const char* k) {
  if (!orders_rotary(l)) return;
  items.push_back(moves(l, q, l.heads * l.rope, l.heads * l.rope));
  items.push_back(moves(l, k, l.rope, l.rope));
}

void cut_output(LayerItems& items, const Latent& l) {
  if (l.padded)
    items.push_back(moves(l, "attention out cut", l.heads * l.value, l.heads * l.value));
}

void pad_output_gradient(LayerItems& items, const Latent& l) {
  if (!l.padded) return;
  items.push_back(moves(l, "attention out gradient zeros", 0, l.heads * *l.padded));
  items.push_back(moves(l, "attention out gradient copy", l.heads * l.value, l.heads * l.value));
}

void cut_gradients(LayerItems& items, const Latent& l) {
  // One rotary key served all heads, so that its gradient is their sum.
  if (l.in_statements) items.push_back(moves(l, "k rope heads sum", l.heads * l.rope, l.rope));
  if (!l.padded) return;
  const double a = l.heads, joined = a * (l.nope + l.rope), value = a * l.value;
  items.push_back(moves(l, "q gradient cut", joined, joined));
  items.push_back(moves(l, "k gradient cut", joined, joined));
  items.push_back(moves(l, "v gradient cut", value, value));
  items.push_back(moves(l, "k rope gradient sum", a * l.rope, l.rope));
}

/// Gradients of the parts, joined for the projections.
void join_gradients(LayerItems& items, const Latent& l) {
  const double a = l.heads, plain = a * l.nope, both = plain + a * l.value;
  const double part = l.shape.shard / l.shape.tokens;  // the down projections run on the shard
  if (l.in_statements) {
    items.push_back(moves(l, "q gradient join", l.q_width(), l.q_width()));
    items.push_back(moves(l, "kv gradient join", both, both));
    const double own = part * (l.kv_rank + l.rope);  // q has a down projection of its own
    items.push_back(moves(l, "latent gradient join", own, own));
  }
  if (!l.padded) return;
  const double latent = (l.compressed_q() ? l.q_rank : l.q_width()) + l.kv_rank + l.rope;
  items.push_back(moves(l, "q gradient copy", plain, plain));
  items.push_back(moves(l, "q gradient join", l.q_width(), l.q_width()));
  items.push_back(moves(l, "kv gradient copy", plain, plain));
  items.push_back(moves(l, "kv gradient join", both, both));
  items.push_back(moves(l, "latent gradient join", part * latent, part * latent));
}

/// From what the projections wrote to what the core reads.
void rotate(LayerItems& items, const Latent& l) {
  order_rotary(items, l, "q rope order", "k rope order");
  if (l.in_statements)
    for (const char* of : {"q rope", "k rope"}) angles(items, l, of);
  items.push_back(rope_forward(l.rotated()));
  join_keys(items, l, "keys and values");
  join_heads(items, l);
  pad_heads(items, l);
}

void rope_exchange(LayerItems& items, const Latent& l, const char* name, CollectiveKind kind) {
  if (l.shape.sequence_parallel)
    communicate(items, name, GroupKind::tensor, l.shape.tp, kind, l.rope_bytes());
}

void query_forward(LayerItems& items, const LayerContext& context, const Latent& l) {
  items.push_back(norm_forward(context.model, "q norm", l.shape.shard * l.q_rank));
  column_forward(items, l.shape, l.q_up());
}

/// From latents and keys with positions to what the core reads, of what latent_forward does; a
/// query that is projected directly stays.
void up_again(Backward& backward, const LayerContext& context, const Latent& l) {
  if (!context.training.recomputes(TrainingSpec::Module::mla_up_proj)) return;
  LayerItems items;
  if (l.compressed_q()) query_forward(items, context, l);
  items.push_back(norm_forward(context.model, "kv norm", l.shape.shard * l.kv_rank));
  column_forward(items, l.shape, l.kv_up());
  rotate(items, l);
  add_again(backward, items);
}

}  // namespace

void latent_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention) {
  const Latent l{context, attention};
  if (l.compressed_q()) {
    items.push_back(forward(l.q_down()));
    query_forward(items, context, l);
  } else {
    column_forward(items, l.shape, l.q());
  }
  items.push_back(forward(l.kv_down()));
  items.push_back(norm_forward(context.model, "kv norm", l.shape.shard * l.kv_rank));
  rope_exchange(items, l, "all_gather k rope", CollectiveKind::all_gather);
  column_forward(items, l.shape, l.kv_up());
  rotate(items, l);
  core_forward(items, context, l.core());
  cut_output(items, l);
  row_forward(items, l.shape, l.out());
}

void latent_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention) {
  const Latent l{context, attention};
  row_backward(backward, l.shape, l.out());
  LayerItems around;
  pad_output_gradient(around, l);
  backward.add_input(around);
  up_again(backward, context, l);
  core_backward(backward, context, l.core());
  around.clear();
  cut_gradients(around, l);
  join_keys(around, l, "keys and values backward");
  around.push_back(rope_backward(l.rotated()));
  if (l.padded) order_rotary(around, l, "q rope gradient order", "k rope gradient order");
  order_rotary_backward(around, l);
  join_gradients(around, l);
  backward.add_input(around);
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
