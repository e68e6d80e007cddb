#include "attention_cores.hpp"

// Kernels of chunkwise linear attention: what each computes and moves per token and head. The lists
// and their formulas stand in docs/models/linear_attention.md.
namespace stepcast::rows {

namespace {

/// A kernel over all chunks: FLOPs per token and head, elements of two bytes and of four that it
/// reads and writes for them.
struct ChunkKernel {
  const char* name;
  double flops, halves, words = 0;
};

/// c tokens of a chunk, k and v elements of a key and a value; `state` is its part of one state.
struct ChunkSizes {
  explicit ChunkSizes(const LinearAttention& a)
      : c{static_cast<double>(a.chunk)},
        k{static_cast<double>(a.key_dim)},
        v{static_cast<double>(a.value_dim)},
        state{k * v / c} {}
  double c, k, v, state;
};

LayerItems rows_of(const std::vector<ChunkKernel>& kernels, const StateHeads& heads,
                   const LinearAttention& a) {
  const double count = heads.tokens * heads.heads;
  const LinearAttentionWork work{heads.sequences,
                                 heads.tokens / heads.sequences,
                                 heads.heads,
                                 static_cast<double>(a.key_dim),
                                 static_cast<double>(a.value_dim),
                                 static_cast<double>(a.chunk)};
  LayerItems items;
  for (const ChunkKernel& kernel : kernels)
    items.push_back(
        Operator{.name = kernel.name,
                 .work = work,
                 .flops = Flops{count * kernel.flops},
                 .bytes = Bytes{count * (element * kernel.halves + fp32 * kernel.words)},
                 .launch = LaunchClass::matmul});
  return items;
}

/// From the inverse of a chunk: what its keys and values become, and the states that they leave.
ChunkKernel keys_and_values(const ChunkSizes& s) {
  return {"chunk keys and values", 2 * s.c * (s.k + s.v), 2 * (s.k + s.v) + s.c, 2};
}
ChunkKernel states(const ChunkSizes& s) {
  return {"chunk states", 4 * s.k * s.v, 2 * s.k + 2 * s.v + s.state, 1};
}

std::vector<ChunkKernel> delta_forward(const ChunkSizes& s) {
  return {{"chunk decay sums", 1, 0, 2},
          {"chunk key products", 2 * s.c * s.k, s.k, s.c + 2},
          {"chunk inverse", s.c * s.c / 3, s.c, s.c},
          keys_and_values(s),
          states(s),
          {"chunk outputs", 2 * s.k * s.v + 2 * s.c * (s.k + s.v), 2 * s.k + 2 * s.v + s.state, 1}};
}

std::vector<ChunkKernel> delta_backward(const ChunkSizes& s) {
  // Recomputes keys, values and states first, as the kernels of flash-linear-attention do, which
  // save neither. Columns are FLOPs, then BF16 and FP32 elements moved, per token and head.
  return {keys_and_values(s),
          states(s),
          {"chunk value gradients", 2 * s.c * (s.k + s.v), 2 * s.k + 2 * s.v, 1},
          {"chunk state gradients", 6 * s.k * s.v, 3 * s.k + 3 * s.v + s.state, 1},
          {"chunk query and key gradients", 6 * s.k * s.v + 2 * s.c * (3 * s.k + s.v),
           6 * s.k + 3 * s.v + 2 * s.state, 2},
          {"chunk inverse gradients", s.c * (10 * s.k + 4 * s.v) + 4 * s.c * s.c,
           4 * s.k + 3 * s.v + s.c, 4},
          {"chunk decay sums backward", 1, 0, 2}};
}

/// One kernel goes through the chunks of a head and keeps the state on chip; backward one inside
/// chunks and one across them (Lightning Attention-2).
std::vector<ChunkKernel> lightning_forward(const ChunkSizes& s) {
  return {{"chunk attention", 4 * s.k * s.v + 2 * s.c * (s.k + s.v), 2 * (s.k + s.v)}};
}

std::vector<ChunkKernel> lightning_backward(const ChunkSizes& s) {
  const double moved = 4 * s.k + 3 * s.v;
  return {{"chunk attention backward inside", s.c * (6 * s.k + 4 * s.v), moved},
          {"chunk attention backward across", 10 * s.k * s.v, moved + 2 * s.k + s.v}};
}

bool is_delta(const LinearAttention& a) { return a.kind == LinearAttention::Kind::gated_delta; }

}  // namespace

LayerItems linear_core_forward(const StateHeads& heads, const LinearAttention& a) {
  const ChunkSizes sizes{a};
  return rows_of(is_delta(a) ? delta_forward(sizes) : lightning_forward(sizes), heads, a);
}

LayerItems linear_core_backward(const StateHeads& heads, const LinearAttention& a) {
  const ChunkSizes sizes{a};
  return rows_of(is_delta(a) ? delta_backward(sizes) : lightning_backward(sizes), heads, a);
}

}  // namespace stepcast::rows
