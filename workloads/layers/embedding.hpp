#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

void embedding_forward(LayerItems& items, const LayerContext& context);
void embedding_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
