#pragma once
#include "rows.hpp"

/// What attends, between the projections. Private to workloads/layers.
namespace stepcast::rows {

/// Kernels that score, choose and attend, of `tokens` of whole sequences of `length`.
struct ChosenTokens {
  double sequences, length;
  double top_k;  ///< that a query sees at most
  /// Twice the tokens that a query sees on average: of all before it, and of those chosen.
  double twice_all() const { return length; }
  double twice_chosen() const;
};
Operator index_scores(const ChosenTokens& chosen, double heads, double width, bool backward);
Operator index_top_k(const ChosenTokens& chosen);
/// `heads` queries that share keys of `qk_dim`, the first `v_dim` of which are values.
Operator sparse_attention(const ChosenTokens& chosen, double heads, double qk_dim, double v_dim,
                          bool backward);

/// Kernels of the core of linear attention over `tokens` of `heads` states, in `sequences`.
struct StateHeads {
  double sequences, tokens, heads;
};
LayerItems linear_core_forward(const StateHeads& heads, const LinearAttention& attention);
LayerItems linear_core_backward(const StateHeads& heads, const LinearAttention& attention);

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
