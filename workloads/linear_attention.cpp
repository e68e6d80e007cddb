#include "linear_attention.hpp"

namespace stepcast {
namespace {

bool is_delta(const LinearAttention& attention) {
  return attention.kind == LinearAttention::Kind::gated_delta;
}

}  // namespace

LinearAttentionSizes linear_attention_sizes(const LinearAttention& attention) {
  const auto heads = static_cast<double>(attention.value_heads);
  LinearAttentionSizes sizes;
  sizes.keys = static_cast<double>(attention.key_heads * attention.key_dim);
  sizes.values = static_cast<double>(attention.value_heads * attention.value_dim);
  // The delta rule has two numbers per head: the decay and the strength of writing.
  if (is_delta(attention)) sizes.gates = 2 * heads;
  sizes.projected = 2 * sizes.keys + 2 * sizes.values + sizes.gates;
  if (attention.convolution > 0) sizes.convolved = 2 * sizes.keys + sizes.values;
  // All heads of the delta rule share their scales, lightning attention has one for each output.
  sizes.norm = is_delta(attention) ? static_cast<double>(attention.value_dim) : sizes.values;
  return sizes;
}

/// A key reads the state and writes to it, a query reads it: two FLOPs per element each. Without
/// the delta rule a key only writes.
double recurrence_flops(const LinearAttention& attention) {
  const auto state =
      static_cast<double>(attention.value_heads * attention.key_dim * attention.value_dim);
  return (is_delta(attention) ? 6 : 4) * state;
}

}  // namespace stepcast
