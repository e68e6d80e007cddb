#pragma once
#include <cstdint>
#include <vector>

#include "layer_blocks.hpp"

/// The weights of a stage as tensors, and which replica updates what of them.
namespace stepcast {

struct StageWeights {
  std::vector<std::int64_t> bytes;  ///< in half precision, in the order of the model
  std::vector<std::size_t> order;   ///< of `bytes`, as a backward pass makes their gradients
  std::int64_t all = 0;             ///< sum of `bytes`
};
/// Of one chunk. Biases, norms and positions are left out.
StageWeights stage_weights(const WorkloadSpec& spec, const LayerTable::Slice& slice);

/// A part of a weight.
struct WeightPart {
  std::size_t weight = 0;     ///< of StageWeights::bytes
  std::int64_t elements = 0;  ///< at its beginning
};
/// What the first of `replicas` updates when each updates an equal share of all weights in a row.
std::vector<WeightPart> first_share(const StageWeights& weights, std::int64_t replicas);

}  // namespace stepcast
