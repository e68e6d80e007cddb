#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

void attention_forward(LayerItems& items, const LayerContext& context);
void attention_backward_pass(Backward& backward, const LayerContext& context);

/// Grouped queries: their projections, and what stands between those.
Projections grouped_query_projections(const LayerContext& context);
void grouped_query_inner_forward(LayerItems& items, const LayerContext& context);
void grouped_query_inner_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
