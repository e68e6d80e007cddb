#include <algorithm>

#include "adapted_products.hpp"
#include "attention_cores.hpp"
#include "layers.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"

namespace stepcast::rows {

namespace {

/// Widths of grouped-query attention on one rank.
struct Sizes {
  double q, kv, heads;  ///< widths per rank (kv: of k or of v), heads per rank
  double gate;          ///< width of the gate on the output; 0: there is none
};

/// With more tensor ranks than KV heads every rank keeps a copy of one.
Sizes sizes(const Shape& shape, const GroupedQueryAttention& a) {
  const auto d = static_cast<double>(a.head_dim);
  const double heads = static_cast<double>(a.heads) / shape.tp;
  const double kv_heads = std::max(1.0, static_cast<double>(a.kv_heads) / shape.tp);
  return {heads * d, kv_heads * d, heads, a.output_gate ? heads * d : 0};
}

Core core(const Sizes& size, const GroupedQueryAttention& a, const ModelSpec& model) {
  const auto d = static_cast<double>(a.head_dim);
  // Norms and rotation change queries and keys alone, so that values may go ahead of them.
  const std::uint32_t norms = model.qk_norm == ModelSpec::QkNorm::none ? 0 : 2;
  const std::uint32_t rotation = model.position == ModelSpec::Position::rope ? 1 : 0;
  return {size.heads, d, d, size.q, size.kv, size.kv, size.q, norms + rotation};
}

/// Norms of queries and keys: of each head, or over all heads, the same elements either way.
void qk_norms_forward(LayerItems& items, const LayerContext& context, const Shape& shape,
                      const Sizes& size) {
  if (context.model.qk_norm == ModelSpec::QkNorm::none) return;
  items.push_back(norm_forward(context.model, "query norm", shape.tokens * size.q));
  items.push_back(norm_forward(context.model, "key norm", shape.tokens * size.kv));
}

void qk_norms_backward(Backward& backward, const LayerContext& context, const Shape& shape,
                       const Sizes& size) {
  if (context.model.qk_norm == ModelSpec::QkNorm::none) return;
  backward.add_input(norm_backward(context.model, "key norm", shape.tokens * size.kv));
  backward.add_input(norm_backward(context.model, "query norm", shape.tokens * size.q));
}

/// The output times the sigmoid of its gate; backward both are read with the gradient and both have
/// one.
void gate_forward(LayerItems& items, const Shape& shape, const Sizes& size) {
  const double count = shape.tokens * size.gate;
  if (count > 0)
    items.push_back(
        vector_row_of(VectorKind::activation, "attention gate", 5 * count, 3 * element * count));
}

void gate_backward(Backward& backward, const Shape& shape, const Sizes& size) {
  const double count = shape.tokens * size.gate;
  if (count > 0)
    backward.add_input(vector_row_of(VectorKind::activation_backward, "attention gate backward",
                                     8 * count, 5 * element * count));
}

double rotated(const Shape& shape, const Sizes& size) { return shape.tokens * (size.q + size.kv); }

void grouped_query_forward(LayerItems& items, const LayerContext& context) {
  const Shape shape{context};
  const Projections projections = grouped_query_projections(context);
  // Queries, keys and values are one product, as frameworks fuse them.
  column_forward(items, shape, projections.in);
  grouped_query_inner_forward(items, context);
  row_forward(items, shape, projections.out);
}

void grouped_query_backward(Backward& backward, const LayerContext& context) {
  const Shape shape{context};
  const Projections projections = grouped_query_projections(context);
  row_backward(backward, shape, projections.out);
  if (context.model.bias == ModelSpec::Bias::all)
    // The bias of the output is added behind the reduction, on the shard.
    backward.add_weight(bias_gradient("attention out", shape.shard * shape.hidden));
  grouped_query_inner_backward(backward, context);
  const Linear& in = projections.in;
  column_backward(backward, shape, in);
  if (context.model.bias != ModelSpec::Bias::none)
    backward.add_weight(bias_gradient(in.name, in.tokens * in.out));
}

}  // namespace

Projections grouped_query_projections(const LayerContext& context) {
  const Shape shape{context};
  const Sizes size = sizes(shape, std::get<GroupedQueryAttention>(context.model.attention));
  return {adapted({"qkv", shape.tokens, shape.hidden, size.q + size.gate + 2 * size.kv}, shape,
                  AdapterPlace::qkv, {size.q + size.gate, size.kv, size.kv}),
          adapted({"attention out", shape.tokens, size.q, shape.hidden}, shape,
                  AdapterPlace::attention_out, {shape.hidden})};
}

void grouped_query_inner_forward(LayerItems& items, const LayerContext& context) {
  const auto& a = std::get<GroupedQueryAttention>(context.model.attention);
  const Shape shape{context};
  const Sizes size = sizes(shape, a);
  const Linear in = grouped_query_projections(context).in;
  // Order of Megatron-LM's attention.py: bias with the projection, norms of queries and keys before
  // the rotation, the gate behind the core.
  if (context.model.bias != ModelSpec::Bias::none)
    items.push_back(bias_forward(in.name, in.tokens * in.out));
  qk_norms_forward(items, context, shape, size);
  if (context.model.position == ModelSpec::Position::rope)
    items.push_back(rope_forward(rotated(shape, size)));
  core_forward(items, context, core(size, a, context.model));
  gate_forward(items, shape, size);
}

void grouped_query_inner_backward(Backward& backward, const LayerContext& context) {
  const auto& a = std::get<GroupedQueryAttention>(context.model.attention);
  const Shape shape{context};
  const Sizes size = sizes(shape, a);
  // The reverse of the forward. A bias has no gradient of the input; that of its weight is added
  // with the projection.
  gate_backward(backward, shape, size);
  core_backward(backward, context, core(size, a, context.model));
  if (context.model.position == ModelSpec::Position::rope)
    backward.add_input(rope_backward(rotated(shape, size)));
  qk_norms_backward(backward, context, shape, size);
}

void attention_forward(LayerItems& items, const LayerContext& context) {
  // Hybrid models mix both kinds of layers: the context says which this one is.
  if (context.linear) return linear_forward(items, context, *context.model.linear);
  if (const auto* latent = std::get_if<LatentAttention>(&context.model.attention))
    return latent->sparse() ? sparse_forward(items, context, *latent)
                            : latent_forward(items, context, *latent);
  grouped_query_forward(items, context);
}

void attention_backward_pass(Backward& backward, const LayerContext& context) {
  if (context.linear) return linear_backward(backward, context, *context.model.linear);
  if (const auto* latent = std::get_if<LatentAttention>(&context.model.attention))
    return latent->sparse() ? sparse_backward(backward, context, *latent)
                            : latent_backward(backward, context, *latent);
  grouped_query_backward(backward, context);
}

}  // namespace stepcast::rows
