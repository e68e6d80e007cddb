#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layers.hpp"
#include "norm.hpp"
#include "rows.hpp"
#include "tensor_parallel.hpp"

namespace stepcast {

namespace rows {

namespace {

using CrossEntropy = TrainingSpec::CrossEntropy;

/// A statement of the loss and what it moves per logit, for a fuser. A value without bytes is one
/// number per token; a statement that writes nothing stays by itself.
struct LossStatement {
  const char* name;
  double bytes;
  std::vector<VectorFlow::Operand> reads;
  VectorFlow::Operand written{0, 0};
};

/// Statements that one kernel may do; `results` are read behind them.
void put_group(LayerItems& items, double logits, const std::string& results,
               std::vector<LossStatement> statements) {
  const auto group = std::make_shared<const StatementGroup>(
      StatementGroup{"loss", OperatorRole::loss, 0, results, {}, 0, false});
  int index = 0;
  for (LossStatement& s : statements) {
    Operator op = vector_row(std::string{"loss "} + s.name, logits, s.bytes * logits);
    op.role = OperatorRole::loss;
    if (s.written.value != 0) {
      for (VectorFlow::Operand& read : s.reads) read.bytes *= logits;
      s.written.bytes *= logits;
      op.flow = std::make_shared<const VectorFlow>(
          VectorFlow{std::move(s.reads), s.written, group, index++});
    }
    items.push_back(std::move(op));
  }
}

/// Three reductions of one number per token, as the logits are shared among the tensor ranks.
void reduce(LayerItems& items, const Shape& shape, const char* name) {
  communicate(items, std::string{"all_reduce loss "} + name, GroupKind::tensor, shape.tp,
              CollectiveKind::all_reduce, fp32 * shape.tokens);
}

/// MindFormers' _LogSoftmax and _NLLLoss: labels are a row of zeros and a one for each token.
void one_hot_forward(LayerItems& items, const Shape& shape, double logits) {
  const VectorFlow::Operand x{'x', element}, cast{'A', fp32}, maximum{'1', 0}, shifted{'B', fp32},
      exponential{'C', fp32}, sum{'2', 0}, logarithm{'D', fp32}, label{'L', fp32},
      product{'E', fp32}, negative{'F', fp32}, loss{'3', 0};
  put_group(items, logits, "A1",
            {{"cast", element + fp32, {x}, cast}, {"maximum", fp32, {cast}, maximum}});
  reduce(items, shape, "maximum");
  put_group(items, logits, "B2",
            {{"shift", 2 * fp32, {cast, maximum}, shifted},
             {"exponentials", 2 * fp32, {shifted}, exponential},
             {"exponential sum", fp32, {exponential}, sum}});
  reduce(items, shape, "sum");
  put_group(items, logits, "", {{"labels", fp32, {}}});
  put_group(items, logits, "D3",
            {{"logarithms", 2 * fp32, {shifted, sum}, logarithm},
             {"label product", 3 * fp32, {logarithm, label}, product},
             {"sign", 2 * fp32, {product}, negative},
             {"sum", fp32, {negative}, loss}});
  reduce(items, shape, "logit");
}

/// The hand-written derivative; several tensor ranks multiply by their number, too.
LayerItems one_hot_backward(const Shape& shape, double logits) {
  const VectorFlow::Operand logarithm{'D', fp32}, label{'L', fp32}, exponential{'a', fp32},
      gradient{'b', fp32}, scaled{'c', fp32}, shared{'d', fp32}, written{'y', element};
  std::vector<LossStatement> statements{
      {"backward exponentials", 2 * fp32, {logarithm}, exponential},
      {"backward less labels", 3 * fp32, {exponential, label}, gradient},
      {"backward scale", 2 * fp32, {gradient}, scaled}};
  if (shape.tp > 1) statements.push_back({"backward ranks", 2 * fp32, {scaled}, shared});
  statements.push_back(
      {"backward cast", fp32 + element, {shape.tp > 1 ? shared : scaled}, written});
  LayerItems items;
  put_group(items, logits, "y", std::move(statements));
  return items;
}

/// The loss over so many logits of the rank: docs/models/operators.md. Vocabulary-parallel cross
/// entropy as Megatron-LM's tensor_parallel/cross_entropy.py runs it, a pass over fp32 logits per
/// operator: cast, maximum; shift, exponentials, sum; division.
void loss_forward(LayerItems& items, const LayerContext& context, double logits) {
  const Shape shape{context};
  const CrossEntropy loss = context.training.cross_entropy;
  if (loss == CrossEntropy::one_hot) return one_hot_forward(items, shape, logits);
  // The fused kernel keeps no exponentials, so that its backward computes them once more.
  if (loss == CrossEntropy::fused) {
    items.push_back(vector_row("loss", 5 * logits, element * logits, OperatorRole::loss));
    for (const char* name : {"maximum", "logit", "sum"}) reduce(items, shape, name);
    return;
  }
  const double cast = element + fp32;
  // Hugging Face does not split the vocabulary: it shifts the logits by a token, and reduces
  // nothing.
  if (loss == CrossEntropy::transformers) {
    const double shifted = 2 * element;
    items.push_back(vector_row("loss shift", logits, (shifted + cast) * logits));
    items.push_back(vector_row("loss", 4 * logits, 2 * fp32 * logits, OperatorRole::loss));
    items.push_back(vector_row("loss output cast", logits, cast * logits));
    return;
  }
  items.push_back(
      vector_row("loss maximum", logits, (cast + fp32) * logits, OperatorRole::loss_maximum));
  reduce(items, shape, "maximum");
  items.push_back(vector_row("loss exponentials", 3 * logits, 5 * fp32 * logits,
                             OperatorRole::loss_exponentials));
  reduce(items, shape, "logit");
  reduce(items, shape, "sum");
  items.push_back(vector_row("loss", logits, 2 * fp32 * logits, OperatorRole::loss));
}

/// In place, or scaled in place and then cast.
void loss_backward(Backward& backward, const LayerContext& context, double logits) {
  const CrossEntropy loss = context.training.cross_entropy;
  if (loss == CrossEntropy::one_hot)
    return backward.add_input(one_hot_backward(Shape{context}, logits));
  // Zeros with one number a row, the softmax, the cast back, and zeros that the shift is copied
  // into.
  const double copied = fp32 + 3 * fp32 + (fp32 + element) + 3 * element;
  const double bytes = loss == CrossEntropy::fused          ? 2 * element
                       : loss == CrossEntropy::transformers ? copied
                                                            : 3 * fp32 + element;
  backward.add_input(vector_row("loss backward", logits, bytes * logits));
}

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
