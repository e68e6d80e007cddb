#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

void latent_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void latent_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);

}  // namespace stepcast::rows
