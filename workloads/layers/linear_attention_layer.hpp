#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Attention whose heads keep a state: docs/models/linear_attention.md.
void linear_forward(LayerItems& items, const LayerContext& context,
                    const LinearAttention& attention);
void linear_backward(Backward& backward, const LayerContext& context,
                     const LinearAttention& attention);

}  // namespace stepcast::rows
