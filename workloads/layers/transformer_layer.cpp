#include "transformer_layer.hpp"

#include "attention.hpp"
#include "feed_forward.hpp"
#include "moe_layer.hpp"
#include "norm.hpp"
#include "parallel_block.hpp"

namespace stepcast {

namespace rows {

bool is_moe(const LayerContext& context, LayerKind kind) {
  return kind == LayerKind::mtp ? mtp_is_moe(context.model) : kind == LayerKind::moe;
}

namespace {

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
