#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Elements per token and rank of q, k, v and the output, and what the kernel sees.
struct Core {
  double heads, qk_dim, v_dim;
  double q, k, v, out;
  /// Kernels directly before it, and as many behind its gradients, that do not meet the values:
  /// norms and rotation of queries and keys.
  std::uint32_t beside_values = 0;
};

/// Softmax attention with its context-parallel exchange: docs/models/context_parallel.md.
void core_forward(LayerItems& items, const LayerContext& context, const Core& core);
/// With selective recompute the forward runs again first.
void core_backward(Backward& backward, const LayerContext& context, const Core& core);

}  // namespace stepcast::rows
