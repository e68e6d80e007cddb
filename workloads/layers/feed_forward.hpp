#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// The gated or plain feed-forward of `width` hidden units, sharded over the tensor group.
void feed_forward_forward(LayerItems& items, const LayerContext& context, const std::string& name,
                          FeedForwardSpec::Kind kind, double width);
void feed_forward_backward(Backward& backward, const LayerContext& context, const std::string& name,
                           FeedForwardSpec::Kind kind, double width);
/// Between its products, the second of which reads what it gives.
Operator feed_forward_activation(const LayerContext& context, const std::string& name,
                                 FeedForwardSpec::Kind kind, double width);
/// Its two halves: up projection with activation, and down projection.
void feed_forward_in(LayerItems& items, const LayerContext& context, const std::string& name,
                     FeedForwardSpec::Kind kind, double width);
void feed_forward_out(LayerItems& items, const LayerContext& context, const std::string& name,
                      double width);
void feed_forward_out_backward(Backward& backward, const LayerContext& context,
                               const std::string& name, FeedForwardSpec::Kind kind, double width);
void feed_forward_in_backward(Backward& backward, const LayerContext& context,
                              const std::string& name, FeedForwardSpec::Kind kind, double width);
Projections feed_forward_projections(const Shape& shape, const std::string& name,
                                     FeedForwardSpec::Kind kind, double width);
/// Products of the up projection: a gated unit makes gate and value in one.
double projections(FeedForwardSpec::Kind kind);
Operator activation_forward(std::string name, FeedForwardSpec::Kind kind, double count);
Operator activation_backward(std::string name, FeedForwardSpec::Kind kind, double count);

}  // namespace stepcast::rows
