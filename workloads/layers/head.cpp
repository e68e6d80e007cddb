#include "head.hpp"

#include "loss.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"

namespace stepcast {

namespace rows {

namespace {

Linear projection(const Shape& shape, const LayerContext& context) {
  // Megatron-LM's output layer is one of Transformer Engine's with fp8_output_proj alone.
  const bool bf16 = !context.training.fp8_head;
  return {"head", shape.tokens, shape.hidden,
          static_cast<double>(context.model.vocabulary) / shape.tp, bf16};
}

/// Cross entropies of PyTorch's autocast: logits become FP32, and their log-softmax is written.
void measure(LayerItems& items, double metrics, double logits) {
  if (metrics == 0) return;
  const double cast = element + fp32, softmax = 2 * fp32;
  items.push_back(vector_row("metrics", 5 * metrics * logits, metrics * (cast + softmax) * logits));
}

}  // namespace

void head_forward(LayerItems& items, const LayerContext& context) {
  const Shape shape{context};
  const Linear linear = projection(shape, context);
  items.push_back(norm_forward(context.model, "final norm", shape.shard * shape.hidden));
  // Columns of the vocabulary are cut over the tensor ranks, and with them the logits.
  column_forward(items, shape, linear);
  const double logits = linear.tokens * linear.out;
  loss_forward(items, context, logits);
  measure(items, static_cast<double>(context.training.logit_metrics), logits);
}

void head_backward(Backward& backward, const LayerContext& context) {
  const Shape shape{context};
  const Linear linear = projection(shape, context);
  const double logits = linear.tokens * linear.out;
  // The step's backward pass begins here.
  loss_backward(backward, context, logits);
  column_backward(backward, shape, linear);
  backward.add_input(norm_backward(context.model, "final norm", shape.shard * shape.hidden));
}

}  // namespace rows

Passes head(const LayerContext& context) {
  LayerItems forward;
  rows::Backward backward{context};
  rows::head_forward(forward, context);
  rows::head_backward(backward, context);
  const ModelSpec& model = context.model;
  ParameterGroups groups{.replicated = norm_width(model)};
  // A tied head on another stage than the embedding keeps a copy of its weights.
  const bool apart = context.plan.pp > 1 && context.plan.chunk_placement == ChunkPlacement::loop;
  if (!model.tied_embeddings || apart)
    groups.tensor = static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  return rows::assemble(context, std::move(forward), std::move(backward), groups);
}

}  // namespace stepcast
