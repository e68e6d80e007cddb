#include "parallel_block.hpp"

#include <array>

#include "attention.hpp"
#include "feed_forward.hpp"
#include "norm.hpp"
#include "tensor_parallel.hpp"
#include "transformer_layer.hpp"

// A layer whose attention and feed-forward read the same and are added up once:
// docs/models/operators.md.
namespace stepcast::rows {

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

}  // namespace

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

}  // namespace stepcast::rows
