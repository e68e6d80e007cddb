#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// Kernels of its core over `tokens` of `heads` states, in `sequences`.
struct StateHeads {
  double sequences, tokens, heads;
};
LayerItems linear_core_forward(const StateHeads& heads, const LinearAttention& attention);
LayerItems linear_core_backward(const StateHeads& heads, const LinearAttention& attention);

}  // namespace stepcast::rows
