#pragma once
#include "rows.hpp"

/// Forward and backward of layers and of what stands at the ends of a model. Private to
/// workloads/layers.
namespace stepcast::rows {

void layer_forward(LayerItems& items, const LayerContext& context, LayerKind kind);
void layer_backward(Backward& backward, const LayerContext& context, LayerKind kind);
bool is_moe(const LayerContext& context, LayerKind kind);

/// What `layernorm` of training.recompute runs again.
void norm_again(Backward& backward, const LayerContext& context, const char* name, double count);

void embedding_forward(LayerItems& items, const LayerContext& context);
void embedding_backward(Backward& backward, const LayerContext& context);

/// Final norm, head and loss.
void head_forward(LayerItems& items, const LayerContext& context);
void head_backward(Backward& backward, const LayerContext& context);

void attention_forward(LayerItems& items, const LayerContext& context);
void attention_backward_pass(Backward& backward, const LayerContext& context);

/// Grouped queries: their projections, and what stands between those.
Projections grouped_query_projections(const LayerContext& context);
void grouped_query_inner_forward(LayerItems& items, const LayerContext& context);
void grouped_query_inner_backward(Backward& backward, const LayerContext& context);

void latent_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void latent_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);

/// Attention whose heads keep a state: docs/models/linear_attention.md.
void linear_forward(LayerItems& items, const LayerContext& context,
                    const LinearAttention& attention);
void linear_backward(Backward& backward, const LayerContext& context,
                     const LinearAttention& attention);

/// Latent attention to tokens that an indexer chooses: docs/models/sparse_attention.md.
void sparse_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void sparse_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);

void moe_forward(LayerItems& items, const LayerContext& context);
void moe_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
