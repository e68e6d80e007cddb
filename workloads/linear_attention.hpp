#pragma once
#include "stepcast/workloads/model_spec.hpp"

/// Widths of linear attention (docs/models/linear_attention.md). Private to workloads/.
namespace stepcast {

/// Elements of one token over all heads.
struct LinearAttentionSizes {
  double keys = 0, values = 0;  ///< of queries or keys; of values, outputs or gates
  double gates = 0;             ///< numbers per head: decay and strength of writing
  double projected = 0;         ///< all that the input projection makes
  double convolved = 0;         ///< of these, what the short convolution sees; 0: there is none
  double norm = 0;              ///< scales of the norm on the output
};
LinearAttentionSizes linear_attention_sizes(const LinearAttention& attention);

/// FLOPs of one token in the forward of the recurrence, whatever the chunk.
double recurrence_flops(const LinearAttention& attention);

}  // namespace stepcast
