#include "feed_forward.hpp"

#include "adapted_products.hpp"
#include "tensor_parallel.hpp"

namespace stepcast::rows {

/// Gate and value are projected by one product.
double projections(FeedForwardSpec::Kind kind) {
  return kind == FeedForwardSpec::Kind::swiglu ? 2 : 1;
}

Projections feed_forward_projections(const Shape& shape, const std::string& name,
                                     FeedForwardSpec::Kind kind, double width) {
  // Hidden units are cut over the tensor ranks; gate and value alike.
  const double inner = width / shape.tp;
  const std::vector<double> parts(static_cast<std::size_t>(projections(kind)), inner);
  return {adapted({name + " up", shape.tokens, shape.hidden, projections(kind) * inner}, shape,
                  AdapterPlace::up, parts),
          adapted({name + " down", shape.tokens, inner, shape.hidden}, shape, AdapterPlace::down,
                  {shape.hidden})};
}

Operator activation_forward(std::string name, FeedForwardSpec::Kind kind, double count) {
  // FLOPs and bytes per element of the inner width, as docs/models/operators.md has them.
  const auto role = OperatorRole::activation;
  if (kind == FeedForwardSpec::Kind::swiglu)
    return vector_row(std::move(name), 6 * count, 3 * element * count, role);
  return vector_row(std::move(name), 8 * count, 2 * element * count, role);
}

Operator activation_backward(std::string name, FeedForwardSpec::Kind kind, double count) {
  const auto role = OperatorRole::activation_backward;
  // Read are what the forward read and the gradient of its output, written those of its inputs.
  name += " backward";
  if (kind == FeedForwardSpec::Kind::swiglu)
    return vector_row(std::move(name), 10 * count, 5 * element * count, role);
  return vector_row(std::move(name), 13 * count, 3 * element * count, role);
}

Operator feed_forward_activation(const LayerContext& context, const std::string& name,
                                 FeedForwardSpec::Kind kind, double width) {
  const Shape shape{context};
  return activation_forward(name + " activation", kind, shape.tokens * width / shape.tp);
}

void feed_forward_in(LayerItems& items, const LayerContext& context, const std::string& name,
                     FeedForwardSpec::Kind kind, double width) {
  const Shape shape{context};
  column_forward(items, shape, feed_forward_projections(shape, name, kind, width).in);
  items.push_back(feed_forward_activation(context, name, kind, width));
}

void feed_forward_out(LayerItems& items, const LayerContext& context, const std::string& name,
                      double width) {
  const Shape shape{context};
  constexpr auto any_kind = FeedForwardSpec::Kind::gelu;  // the down projection is that of all
  row_forward(items, shape, feed_forward_projections(shape, name, any_kind, width).out);
}

void feed_forward_out_backward(Backward& backward, const LayerContext& context,
                               const std::string& name, FeedForwardSpec::Kind kind, double width) {
  const Shape shape{context};
  row_backward(backward, shape, feed_forward_projections(shape, name, kind, width).out);
  if (context.model.bias == ModelSpec::Bias::all)
    // Behind the reduction: each rank adds up its own shard.
    backward.add_weight(bias_gradient(name + " down", shape.shard * shape.hidden));
  backward.add_input(
      activation_backward(name + " activation", kind, shape.tokens * width / shape.tp));
}

void feed_forward_in_backward(Backward& backward, const LayerContext& context,
                              const std::string& name, FeedForwardSpec::Kind kind, double width) {
  const Shape shape{context};
  const Linear in = feed_forward_projections(shape, name, kind, width).in;
  column_backward(backward, shape, in);
  if (context.model.bias == ModelSpec::Bias::all)
    // The bias is cut as the outputs are, over all tokens.
    backward.add_weight(bias_gradient(in.name, in.tokens * in.out));
}

void feed_forward_forward(LayerItems& items, const LayerContext& context, const std::string& name,
                          FeedForwardSpec::Kind kind, double width) {
  feed_forward_in(items, context, name, kind, width);
  feed_forward_out(items, context, name, width);
}

void feed_forward_backward(Backward& backward, const LayerContext& context, const std::string& name,
                           FeedForwardSpec::Kind kind, double width) {
  feed_forward_out_backward(backward, context, name, kind, width);
  feed_forward_in_backward(backward, context, name, kind, width);
}

}  // namespace stepcast::rows
