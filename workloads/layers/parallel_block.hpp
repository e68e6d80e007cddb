#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// A layer whose attention and feed-forward read the same (ModelSpec::Block other than serial).
void parallel_forward(LayerItems& items, const LayerContext& context);
void parallel_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
