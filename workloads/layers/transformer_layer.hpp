#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

void layer_forward(LayerItems& items, const LayerContext& context, LayerKind kind);
void layer_backward(Backward& backward, const LayerContext& context, LayerKind kind);
bool is_moe(const LayerContext& context, LayerKind kind);

/// What `layernorm` of training.recompute runs again.
void norm_again(Backward& backward, const LayerContext& context, const char* name, double count);

}  // namespace stepcast::rows
