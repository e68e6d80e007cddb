#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
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

}  // namespace stepcast::rows
