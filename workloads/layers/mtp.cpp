#include "layers.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"

namespace stepcast {

namespace {

using namespace rows;

/// Joins the hidden state and the next token's embedding: [tokens x 2h] -> h, column-parallel, then
/// gathered.
Linear projection(const Shape& shape) {
  return {"mtp projection", shape.tokens, 2 * shape.hidden, shape.hidden / shape.tp};
}

void gather_projection(LayerItems& items, const Shape& shape, const char* name) {
  communicate(items, name, GroupKind::tensor, shape.tp, CollectiveKind::all_gather,
              element * shape.tokens * shape.hidden);
}

void module_forward(LayerItems& items, const LayerContext& context) {
  const Shape shape{context};
  const double count = shape.shard * shape.hidden;
  // A module embeds the next token, norms both inputs, projects the pair back to the hidden width
  // and runs one more layer (DeepSeek-V3, section 2.2).
  embedding_forward(items, context);
  items.push_back(
      norm_forward(context.model, "mtp embedding norm", count, OperatorRole::embedding_norm));
  items.push_back(norm_forward(context.model, "mtp hidden norm", count, OperatorRole::hidden_norm));
  column_forward(items, shape, projection(shape));
  gather_projection(items, shape, "all_gather mtp projection");
  layer_forward(items, context, LayerKind::mtp);
}

void module_backward(Backward& backward, const LayerContext& context) {
  const Shape shape{context};
  const double count = shape.shard * shape.hidden;
  layer_backward(backward, context, LayerKind::mtp);
  // With sequence parallelism the forward gathered the projection, so that its gradient is gathered
  // for the way back.
  if (shape.sequence_parallel) {
    LayerItems items;
    gather_projection(items, shape, "all_gather mtp projection gradient");
    backward.add_input(items);
  }
  column_backward(backward, shape, projection(shape));
  backward.add_input(norm_backward(context.model, "mtp hidden norm", count));
  backward.add_input(norm_backward(context.model, "mtp embedding norm", count));
  embedding_backward(backward, context);
}

}  // namespace

Passes mtp_module(const LayerContext& context) {
  LayerItems forward, module;
  Backward backward{context};
  module_forward(module, context);
  forward = module;
  // The head is shared with the model but runs once more per module; recomputation stops before it.
  head_forward(forward, context);
  head_backward(backward, context);
  module_backward(backward, context);
  Passes passes =
      assemble(context, std::move(forward), std::move(backward), mtp_parameters(context.model));
  passes.recomputed = std::move(module);
  return passes;
}

}  // namespace stepcast
