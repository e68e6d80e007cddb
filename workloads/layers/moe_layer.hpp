#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

void moe_forward(LayerItems& items, const LayerContext& context);
void moe_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
