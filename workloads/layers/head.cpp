#include "rows.hpp"

namespace stepcast {

namespace rows {

namespace {

Linear projection(const Shape& shape, const ModelSpec& model) {
  const bool bf16 = true;  // Megatron-LM's output layer is none of Transformer Engine's
  return {"head", shape.tokens, shape.hidden, static_cast<double>(model.vocabulary) / shape.tp,
          bf16};
}

using CrossEntropy = TrainingSpec::CrossEntropy;

/// Passes over FP32 logits behind the sum of their exponentials: the division, or, with labels as
/// a row of zeros and a one for each token, logarithm, labels, their product, its sign and sum.
double last_passes(CrossEntropy loss) { return loss == CrossEntropy::one_hot ? 9 : 2; }

/// Bytes of a logit on the way back: in place; scaled in place and then cast; or exponentials less
/// labels, then scaled (by the loss, and where the tensor ranks are several by their number) and
/// cast (docs/models/operators.md).
double loss_backward_bytes(CrossEntropy loss, double tp) {
  if (loss == CrossEntropy::fused) return 2 * element;
  if (loss == CrossEntropy::unfused) return 3 * fp32 + element;
  return (tp > 1 ? 10 : 8) * fp32 + element;
}

/// Vocabulary-parallel cross entropy as Megatron-LM's tensor_parallel/cross_entropy.py runs it, a
/// pass over fp32 logits per operator: cast, maximum; shift, exponentials, sum; division. Three
/// reductions of one number per token.
void loss_forward(LayerItems& items, const Shape& shape, CrossEntropy loss, double logits) {
  const auto reduce = [&](const char* name) {
    communicate(items, name, GroupKind::tensor, shape.tp, CollectiveKind::all_reduce,
                fp32 * shape.tokens);
  };
  if (loss == CrossEntropy::fused) {
    items.push_back(vector_row("loss", 5 * logits, element * logits, OperatorRole::loss));
    for (const char* name :
         {"all_reduce loss maximum", "all_reduce loss logit", "all_reduce loss sum"})
      reduce(name);
    return;
  }
  const double cast = element + fp32;
  items.push_back(
      vector_row("loss maximum", logits, (cast + fp32) * logits, OperatorRole::loss_maximum));
  reduce("all_reduce loss maximum");
  items.push_back(vector_row("loss exponentials", 3 * logits, 5 * fp32 * logits,
                             OperatorRole::loss_exponentials));
  reduce("all_reduce loss logit");
  reduce("all_reduce loss sum");
  items.push_back(
      vector_row("loss", logits, last_passes(loss) * fp32 * logits, OperatorRole::loss));
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
  const Linear linear = projection(shape, context.model);
  items.push_back(norm_forward(context.model, "final norm", shape.shard * shape.hidden));
  column_forward(items, shape, linear);
  const double logits = linear.tokens * linear.out;
  loss_forward(items, shape, context.training.cross_entropy, logits);
  measure(items, static_cast<double>(context.training.logit_metrics), logits);
}

void head_backward(Backward& backward, const LayerContext& context) {
  const Shape shape{context};
  const Linear linear = projection(shape, context.model);
  const double logits = linear.tokens * linear.out;
  const double bytes = loss_backward_bytes(context.training.cross_entropy, shape.tp);
  backward.add_input(vector_row("loss backward", logits, bytes * logits));
  column_backward(backward, shape, linear);
  backward.add_input(norm_backward(context.model, "final norm", shape.shard * shape.hidden));
}

}  // namespace rows

Passes head(const LayerContext& context) {
  LayerItems forward;
  rows::Backward backward;
  rows::head_forward(forward, context);
  rows::head_backward(backward, context);
  const ModelSpec& model = context.model;
  ParameterGroups groups{.replicated = norm_width(model)};
  const bool apart = context.plan.pp > 1 && context.plan.chunk_placement == ChunkPlacement::loop;
  if (!model.tied_embeddings || apart)
    groups.tensor = static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  return rows::assemble(context, std::move(forward), std::move(backward), groups);
}

}  // namespace stepcast
