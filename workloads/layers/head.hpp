#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Final norm, head and loss.
void head_forward(LayerItems& items, const LayerContext& context);
void head_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
