#include "attention_time.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double reference_head = 128;  // at which AttentionPass::cube is stated

/// Products of one score element: two of 2 d FLOPs forward, five backward.
double element_flops(const AttentionWork& w) {
  const double d = (w.qk_dim + w.v_dim) / 2;
  return (w.backward ? 10 : 4) * d;
}

/// Keys that a query sees, averaged over the queries.
double mean_keys(const Operator& op, const AttentionWork& w) {
  // A mask or a window has lowered the FLOPs already.
  return op.flops.value() / element_flops(w) / (w.sequences * w.heads * w.query_length);
}

/// The tile that sees most keys, in tiles that see the mean of them.
double longest_tile(const Operator& op, const AttentionWork& w) {
  return w.causal ? (w.window > 0 ? w.window : w.key_length) / mean_keys(op, w) : 1;
}

/// How many times longer blocks of queries keep the cores busy than even work would. Causal blocks
/// are as long as the keys they see, so that the library can balance them: the longest one bounds.
double imbalance(const Operator& op, const AttentionWork& w, const AttentionPass& pass,
                 const DeviceSpec& device) {
  if (pass.block <= 0) return 1;
  const auto block = static_cast<double>(pass.block);
  const auto cores = static_cast<double>(device.cube_cores);
  const double matrices = w.sequences * w.heads;
  // Waves of blocks, were all of them as long as the mean.
  const double each = matrices * std::ceil(w.query_length / block) / cores;
  // Without a mask blocks are alike, and the last wave is as long for one block as for all cores.
  const double waves = w.causal ? std::max(each, longest_tile(op, w)) : std::ceil(each);
  return std::max(1.0, waves * cores * block / (matrices * w.query_length));
}

/// Time of all scores where the cores share them evenly.
Seconds even_time(const Operator& op, const AttentionWork& work, const DeviceSpec& device) {
  const AttentionPass& pass = attention_pass(work, device);
  const double d = (work.qk_dim + work.v_dim) / 2;
  const double fraction =
      std::min(1.0, pass.cube * std::pow(reference_head / d, pass.head_exponent));
  const FlopsPerSecond peak = work.generation == AttentionGeneration::cudnn_mxfp8
                                  ? device.matmul_peak_fp8
                                  : device.matmul_peak;
  const double cube = element_flops(work) / (fraction * peak.value());
  // Formula (2) of docs/models/kernels.md: scores pass cube and vector cores at the same time.
  const double element = std::max(cube, pass.vector / device.vector_peak.value());
  const double elements = op.flops.value() / element_flops(work);
  return Seconds{elements * element * (1 + attention_loss(op, work, device))};
}

}  // namespace

const AttentionPass& attention_pass(const AttentionWork& work, const DeviceSpec& device) {
  const AttentionKernel* kernel = device.efficiency.attention.of(work.generation);
  expects(kernel != nullptr, "the device has numbers for this attention kernel");
  return work.backward ? kernel->backward : kernel->forward;
}

double attention_loss(const Operator& op, const AttentionWork& work, const DeviceSpec& device) {
  const AttentionPass& pass = attention_pass(work, device);
  // A causal mask halves the whole sequence's work and what is lost at the diagonal alike.
  // The far edge of a window masks blocks as the diagonal does.
  const double edges = work.window > 0 ? 2 : 1;
  const double lost = work.causal ? (pass.start + edges * pass.diagonal) / 2 : pass.start;
  return lost == 0 ? 0 : lost / mean_keys(op, work);
}

Seconds attention_compute_time(const Operator& op, const AttentionWork& work,
                               const DeviceSpec& device) {
  if (op.flops.value() == 0) return Seconds{0};
  return even_time(op, work, device) * imbalance(op, work, attention_pass(work, device), device);
}

Seconds shortest_attention(const Operator& op, const AttentionWork& work,
                           const DeviceSpec& device) {
  const std::int64_t tile = device.efficiency.attention.tile;
  if (op.flops.value() == 0 || tile == 0) return Seconds{0};
  const auto rows_at_once = static_cast<double>(tile * device.cube_cores);
  const double rows = work.sequences * work.heads * work.query_length;
  // The part of the work that all cores hold at once, as long as its longest tile.
  const Seconds one = even_time(op, work, device) * (rows_at_once / rows * longest_tile(op, work));
  return device.efficiency.memory.ramp + one;
}

}  // namespace stepcast
