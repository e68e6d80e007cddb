#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Latent attention to tokens that an indexer chooses: docs/models/sparse_attention.md.
void sparse_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void sparse_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);

}  // namespace stepcast::rows
