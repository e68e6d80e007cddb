#include "../linear_attention.hpp"
#include "attention_cores.hpp"
#include "layers.hpp"
#include "tensor_parallel.hpp"

// Attention whose heads keep a state. docs/models/linear_attention.md.
namespace stepcast::rows {

namespace {

using Kind = LinearAttention::Kind;

/// Sizes of one rank: heads are split over the tensor group, and in the core over the context group
/// too, whose ranks then hold whole sequences.
struct Mixer {
  Mixer(const LayerContext& context, const LinearAttention& attention)
      : shape{context}, spec{attention}, sizes{linear_attention_sizes(attention)} {
    for (double* width :
         {&sizes.keys, &sizes.values, &sizes.gates, &sizes.projected, &sizes.convolved})
      *width /= shape.tp;
    heads = static_cast<double>(attention.value_heads) / shape.tp;
  }

  Linear in() const { return {"linear attention in", shape.tokens, shape.hidden, sizes.projected}; }
  Linear out() const { return {"linear attention out", shape.tokens, sizes.values, shape.hidden}; }
  StateHeads states() const { return {shape.sequences, shape.tokens * shape.cp, heads / shape.cp}; }
  bool delta() const { return spec.kind == Kind::gated_delta; }

  Shape shape;
  const LinearAttention& spec;
  LinearAttentionSizes sizes;
  double heads;
};

/// A kernel that does `flops` per element of `width` elements of a token, and moves them `times`.
Operator pass(const Mixer& m, VectorKind kind, std::string name, double width, double flops,
              double times) {
  const double count = m.shape.tokens * width;
  return vector_row_of(kind, std::move(name), flops * count, times * element * count);
}

void exchange_heads(LayerItems& items, const Mixer& m, const char* name, double width) {
  communicate(items, std::string{"all_to_all "} + name, GroupKind::context, m.shape.cp,
              CollectiveKind::all_to_all, element * m.shape.tokens * width);
}

constexpr auto plain = VectorKind::elementwise;

/// The short convolution wants tokens side by side, so that they are copied first; queries and keys
/// are normed, and repeated where values have more heads (Megatron-LM, `gated_delta_net.py`).
void prepare_delta(LayerItems& items, const Mixer& m) {
  const LinearAttentionSizes& s = m.sizes;
  const auto taps = static_cast<double>(m.spec.convolution);
  if (s.convolved > 0) {
    items.push_back(pass(m, plain, "convolution copy", s.convolved, 0, 2));
    items.push_back(pass(m, plain, "short convolution", s.convolved, 2 * taps + 4, 2));
  }
  items.push_back(pass(m, VectorKind::norm, "query and key norm", 2 * s.keys, 4, 2));
  if (m.spec.value_heads > m.spec.key_heads) {
    const double repeated = 2 * m.heads * static_cast<double>(m.spec.key_dim);
    items.push_back(pass(m, plain, "query and key repeat", 2 * s.keys + repeated, 0, 1));
  }
  items.push_back(pass(m, plain, "decay and write gates", s.gates, 6, 4));
}

void prepare_delta_backward(LayerItems& items, const Mixer& m) {
  const LinearAttentionSizes& s = m.sizes;
  const auto taps = static_cast<double>(m.spec.convolution);
  items.push_back(pass(m, plain, "decay and write gates backward", s.gates, 12, 5));
  // Heads of keys served several heads of values: their gradients are added up again.
  if (m.spec.value_heads > m.spec.key_heads) {
    const double repeated = 2 * m.heads * static_cast<double>(m.spec.key_dim);
    items.push_back(pass(m, plain, "query and key repeat backward", 2 * s.keys + repeated, 1, 1));
  }
  items.push_back(
      pass(m, VectorKind::norm_backward, "query and key norm backward", 2 * s.keys, 8, 3));
  // Without a convolution nothing was copied into its layout either.
  if (s.convolved <= 0) return;
  items.push_back(pass(m, plain, "short convolution backward", s.convolved, 4 * taps + 8, 3));
  items.push_back(pass(m, plain, "convolution copy backward", s.convolved, 0, 2));
}

}  // namespace

void linear_forward(LayerItems& items, const LayerContext& context,
                    const LinearAttention& attention) {
  const Mixer m{context, attention};
  column_forward(items, m.shape, m.in());
  exchange_heads(items, m, "linear attention in", m.sizes.projected);
  if (m.delta())
    prepare_delta(items, m);
  else
    items.push_back(pass(m, VectorKind::activation, "query, key and value activation",
                         2 * m.sizes.keys + m.sizes.values, 4, 2));
  const LayerItems core = linear_core_forward(m.states(), attention);
  items.insert(items.end(), core.begin(), core.end());
  items.push_back(pass(m, VectorKind::norm, "gated norm", m.sizes.values, 9, 3));
  exchange_heads(items, m, "linear attention out", m.sizes.values);
  row_forward(items, m.shape, m.out());
}

void linear_backward(Backward& backward, const LayerContext& context,
                     const LinearAttention& attention) {
  const Mixer m{context, attention};
  row_backward(backward, m.shape, m.out());
  LayerItems items;
  exchange_heads(items, m, "linear attention out gradient", m.sizes.values);
  items.push_back(pass(m, VectorKind::norm_backward, "gated norm backward", m.sizes.values, 18, 5));
  const LayerItems core = linear_core_backward(m.states(), attention);
  items.insert(items.end(), core.begin(), core.end());
  if (m.delta())
    prepare_delta_backward(items, m);
  else
    items.push_back(pass(m, VectorKind::activation_backward,
                         "query, key and value activation backward",
                         2 * m.sizes.keys + m.sizes.values, 6, 3));
  exchange_heads(items, m, "linear attention in gradient", m.sizes.projected);
  backward.add_input(items);
  column_backward(backward, m.shape, m.in());
}

}  // namespace stepcast::rows
