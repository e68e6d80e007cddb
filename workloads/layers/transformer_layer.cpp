#include <array>

#include "feed_forward.hpp"
#include "layers.hpp"
#include "norm.hpp"
#include "rows.hpp"
#include "tensor_parallel.hpp"

namespace stepcast {

namespace rows {

bool is_moe(const LayerContext& context, LayerKind kind) {
  return kind == LayerKind::mtp ? mtp_is_moe(context.model) : kind == LayerKind::moe;
}

namespace {

const char* const parallel_part = "feed-forward";

/// The products of both parts. `together`: what is one product of both.
struct ParallelBlock {
  explicit ParallelBlock(const LayerContext& layer)
      : context{layer},
        shape{layer},
        attention{grouped_query_projections(layer)},
        feed_forward{feed_forward_projections(shape, parallel_part, kind(), width())},
        together{{"block", shape.tokens, shape.hidden, attention.in.out + feed_forward.in.out},
                 {"block out", shape.tokens, attention.out.in + feed_forward.out.in, shape.hidden}},
        ins{attention.in, feed_forward.in},
        outs{attention.out, feed_forward.out} {}

  FeedForwardSpec::Kind kind() const { return context.model.ffn.kind; }
  double width() const { return static_cast<double>(context.model.ffn.hidden); }
  double inner() const { return shape.tokens * width() / shape.tp; }
  double count() const { return shape.shard * shape.hidden; }
  bool joined() const { return context.block == KernelSpec::Block::joined; }
  bool one_norm() const { return context.model.block == ModelSpec::Block::parallel; }
  bool biased() const { return context.model.bias == ModelSpec::Bias::all; }
  /// A graph holds the layer as a whole.
  bool captures() const {
    return context.captures(GraphScope::attn) && context.captures(GraphScope::mlp);
  }
  Linears read_together() const { return joined() ? Linears{&together.in, 1} : Linears{ins}; }
  Linears added_up() const { return joined() ? Linears{&together.out, 1} : Linears{outs}; }

  const LayerContext& context;
  Shape shape;
  Projections attention, feed_forward, together;
  std::array<Linear, 2> ins, outs;
};

void inputs_forward(LayerItems& items, const ParallelBlock& b) {
  // One norm that both parts read lets their first products be one.
  if (b.one_norm()) {
    items.push_back(norm_forward(b.context.model, "block norm", b.count()));
    return columns_forward(items, b.shape, "block", b.read_together());
  }
  items.push_back(norm_forward(b.context.model, "attention norm", b.count()));
  column_forward(items, b.shape, b.attention.in);
  items.push_back(norm_forward(b.context.model, "feed-forward norm", b.count()));
  column_forward(items, b.shape, b.feed_forward.in);
}

Operator block_activation(const ParallelBlock& b) {
  return activation_forward(std::string{parallel_part} + " activation", b.kind(), b.inner());
}

/// The feed-forward part of `training.recompute`, without the sum that other parts add to.
void feed_forward_again(Backward& backward, const ParallelBlock& b) {
  using Module = TrainingSpec::Module;
  const bool all = b.context.training.recomputes(Module::mlp);
  if (!all && !b.context.training.recomputes(Module::mlp_act)) return;
  LayerItems items;
  if (all) column_forward(items, b.shape, b.feed_forward.in);
  items.push_back(block_activation(b));
  if (all) items.push_back(forward(b.feed_forward.out));
  add_again(backward, items);
}

void norms_again(Backward& backward, const ParallelBlock& b) {
  if (b.one_norm()) return norm_again(backward, b.context, "block norm", b.count());
  norm_again(backward, b.context, "attention norm", b.count());
  norm_again(backward, b.context, "feed-forward norm", b.count());
}

/// Gradients of the stream: that of the sum, and one that comes through each norm.
void norm_gradient(Backward& backward, const ParallelBlock& b, const char* norm, const char* sum) {
  backward.add_input(norm_backward(b.context.model, norm, b.count()));
  backward.add_input(residual(sum, b.count(), OperatorRole::residual_backward));
}

void inputs_backward(Backward& backward, const ParallelBlock& b) {
  // The gradient of a shared norm is the sum of both parts and taken once.
  if (b.one_norm()) {
    columns_backward(backward, b.shape, "block", b.read_together());
    return norm_gradient(backward, b, "block norm", "block residual backward");
  }
  column_backward(backward, b.shape, b.feed_forward.in);
  norm_gradient(backward, b, "feed-forward norm", "feed-forward residual backward");
  column_backward(backward, b.shape, b.attention.in);
  norm_gradient(backward, b, "attention norm", "attention residual backward");
}

void biases_backward(Backward& backward, const ParallelBlock& b) {
  const auto add = [&](const std::string& name, double count) {
    backward.add_weight(bias_gradient(name, count));
  };
  // Outputs that are added up have one bias each; inputs have one where the model has biases at
  // all.
  if (b.biased()) {
    add(b.feed_forward.out.name, b.count());
    add(b.attention.out.name, b.count());
    add(b.feed_forward.in.name, b.feed_forward.in.tokens * b.feed_forward.in.out);
  }
  if (b.context.model.bias != ModelSpec::Bias::none)
    add(b.attention.in.name, b.attention.in.tokens * b.attention.in.out);
}

/// A layer whose attention and feed-forward read the same (ModelSpec::Block other than serial).
void parallel_forward(LayerItems& items, const LayerContext& context) {
  const ParallelBlock b{context};
  captured(items, b.captures(), [&] {
    // Both parts read the norm, and neither waits for the other's output: feed-forward and
    // attention follow each other only because one stream runs them.
    inputs_forward(items, b);
    items.push_back(block_activation(b));
    grouped_query_inner_forward(items, context);
    rows_forward(items, b.shape, "block", b.added_up());
    items.push_back(joined_residual(context, "block residual", b.count()));
  });
}

void parallel_backward(Backward& backward, const LayerContext& context) {
  const ParallelBlock b{context};
  // Before the graph, which holds the backward alone.
  norms_again(backward, b);
  feed_forward_again(backward, b);
  captured(backward, b.captures(), [&] {
    dropout_backward(backward, context, "block", b.count());
    rows_backward(backward, b.shape, "block", b.added_up());
    backward.add_input(
        activation_backward(std::string{parallel_part} + " activation", b.kind(), b.inner()));
    grouped_query_inner_backward(backward, context);
    inputs_backward(backward, b);
    biases_backward(backward, b);
  });
}

bool sandwich(const LayerContext& context) {
  return context.model.norm == ModelSpec::Norm::sandwich;
}

const char* const feed_forward_name = "feed-forward";

void block_forward(LayerItems& items, const LayerContext& context, LayerKind kind) {
  // An MoE layer says itself which of its parts a graph captures.
  if (is_moe(context, kind)) return moe_forward(items, context);
  captured(items, context.captures(GraphScope::mlp), [&] {
    feed_forward_forward(items, context, feed_forward_name, context.model.ffn.kind,
                         static_cast<double>(context.model.ffn.hidden));
  });
}

/// The norm before a part of a layer is captured with what reads it first.
bool captures_norm(const LayerContext& context, LayerKind kind) {
  if (!is_moe(context, kind)) return context.captures(GraphScope::mlp);
  return context.captures(GraphScope::moe_router) || context.captures(GraphScope::moe);
}

/// What `training.recompute` runs again before the backward of the feed-forward part or experts.
void block_again(Backward& backward, const LayerContext& context, LayerKind kind) {
  using Module = TrainingSpec::Module;
  const bool moe = is_moe(context, kind);
  LayerItems items;
  // The forward freed what this module made.
  if (context.training.recomputes(moe ? Module::moe : Module::mlp))
    block_forward(items, context, kind);
  else if (!moe && context.training.recomputes(Module::mlp_act))
    items.push_back(feed_forward_activation(context, feed_forward_name, context.model.ffn.kind,
                                            static_cast<double>(context.model.ffn.hidden)));
  if (!items.empty()) add_again(backward, items);
}

}  // namespace

void norm_again(Backward& backward, const LayerContext& context, const char* name, double count) {
  if (context.training.recomputes(TrainingSpec::Module::layernorm))
    // The norm's output is what the products for the weights read.
    add_again(backward, {norm_forward(context.model, name, count)});
}

void layer_forward(LayerItems& items, const LayerContext& context, LayerKind kind) {
  if (context.model.block != ModelSpec::Block::serial) return parallel_forward(items, context);
  const Shape shape{context};
  const ModelSpec& model = context.model;
  // Norms and sums run on the shard of a sequence-parallel rank.
  const double count = shape.shard * shape.hidden;
  captured(items, context.captures(GraphScope::attn), [&] {
    items.push_back(norm_forward(model, "attention norm", count));
    attention_forward(items, context);
    if (sandwich(context))
      items.push_back(norm_forward(model, "attention post norm", count, OperatorRole::post_norm));
    items.push_back(joined_residual(context, "attention residual", count));
  });
  captured(items, captures_norm(context, kind),
           [&] { items.push_back(norm_forward(model, "feed-forward norm", count)); });
  block_forward(items, context, kind);
  if (sandwich(context))
    items.push_back(norm_forward(model, "feed-forward post norm", count, OperatorRole::post_norm));
  items.push_back(joined_residual(context, "feed-forward residual", count));
}

void layer_backward(Backward& backward, const LayerContext& context, LayerKind kind) {
  if (context.model.block != ModelSpec::Block::serial) return parallel_backward(backward, context);
  const Shape shape{context};
  const ModelSpec& model = context.model;
  const double count = shape.shard * shape.hidden;
  // The backward pass goes through the layer from its end.
  dropout_backward(backward, context, "feed-forward", count);
  const auto post = OperatorRole::post_norm_backward;
  if (sandwich(context))
    backward.add_input(norm_backward(model, "feed-forward post norm", count, post));
  norm_again(backward, context, "feed-forward norm", count);
  block_again(backward, context, kind);
  if (is_moe(context, kind)) {
    moe_backward(backward, context);
  } else {
    captured(backward, context.captures(GraphScope::mlp), [&] {
      feed_forward_backward(backward, context, feed_forward_name, model.ffn.kind,
                            static_cast<double>(model.ffn.hidden));
    });
  }
  captured(backward, captures_norm(context, kind), [&] {
    backward.add_input(norm_backward(model, "feed-forward norm", count));
    // The gradient that went around the feed-forward part joins the one that went through it.
    backward.add_input(
        residual("feed-forward residual backward", count, OperatorRole::residual_backward));
  });
  captured(backward, context.captures(GraphScope::attn), [&] {
    dropout_backward(backward, context, "attention", count);
    if (sandwich(context))
      backward.add_input(norm_backward(model, "attention post norm", count, post));
    norm_again(backward, context, "attention norm", count);
    attention_backward_pass(backward, context);
    backward.add_input(norm_backward(model, "attention norm", count));
    backward.add_input(
        residual("attention residual backward", count, OperatorRole::residual_backward));
  });
}

/// What the backward pass of a serial layer reads of its forward (docs/models/operators.md): not
/// the sum at its end, nor, in a dense layer, the projection whose outputs go there alone.
LayerItems needed_again(LayerItems items, const LayerContext& context, LayerKind kind) {
  const auto* sum = std::get_if<Operator>(&items.back());
  // The sum at the end is the input of the next layer, which keeps it.
  expects(sum != nullptr && sum->name == "feed-forward residual", "a layer ends with its sum");
  items.pop_back();
  // Experts and post norms read the outputs of the last product.
  if (is_moe(context, kind) || sandwich(context)) return items;
  const auto is_activation = [](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->role == OperatorRole::activation;
  };
  while (!items.empty() && !is_activation(items.back())) items.pop_back();
  return items;
}

}  // namespace rows

Passes transformer_layer(const LayerContext& context, LayerKind kind) {
  LayerItems forward;
  rows::Backward backward{context};
  rows::layer_forward(forward, context, kind);
  rows::layer_backward(backward, context, kind);
  LayerItems recomputed = forward;
  // Compilers that see both passes leave out what no gradient reads.
  if (context.training.rebuild == TrainingSpec::Rebuild::needed)
    recomputed = rows::needed_again(std::move(recomputed), context, kind);
  // Where it begins, wrappers of checkpointing cost the host time.
  for (LayerItem& item : recomputed)
    if (auto* op = std::get_if<Operator>(&item)) {
      op->begins_again = true;
      break;
    }
  const LayerParts parts{rows::is_moe(context, kind), context.linear};
  Passes passes = rows::assemble(
      context, std::move(forward), std::move(backward), layer_parameters(context.model, parts),
      adapter_parameters(context.model, context.training.adapters, parts));
  passes.recomputed = std::move(recomputed);
  return passes;
}

}  // namespace stepcast
