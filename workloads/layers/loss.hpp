#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// The loss over so many logits of the rank, and what its gradient launches.
void loss_forward(LayerItems& items, const LayerContext& context, double logits);
void loss_backward(Backward& backward, const LayerContext& context, double logits);

}  // namespace stepcast::rows
