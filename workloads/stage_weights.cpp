#include "stage_weights.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/workloads/states.hpp"

namespace stepcast {

StageWeights stage_weights(const WorkloadSpec& spec, const LayerTable::Slice& slice) {
  const LayerBytes layer = layer_bytes(spec);
  const std::int64_t table =
      std::llround(half_bytes * static_cast<double>(spec.model.vocabulary) *
                   static_cast<double>(spec.model.hidden) / static_cast<double>(spec.plan.tp));
  StageWeights weights;
  if (slice.embedding) weights.bytes.push_back(table);
  const std::size_t first = weights.bytes.size();
  for (std::int64_t i = 0; i < slice.count; ++i)
    for (const std::int64_t bytes : {layer.qkv, layer.dense, layer.widening, layer.narrowing})
      weights.bytes.push_back(bytes);
  const std::size_t behind = weights.bytes.size();
  // A tied head beside the embedding has no table of its own.
  const bool shared = slice.embedding && spec.model.tied_embeddings;
  if (slice.head && !shared) weights.bytes.push_back(table);
  // A backward pass makes the head's gradient first, then those of the layers from the last one on.
  if (slice.head) weights.order.push_back(shared ? 0 : behind);
  for (std::size_t weight = behind; weight > first; --weight) weights.order.push_back(weight - 1);
  // A shared table has its place already, with the head.
  if (slice.embedding && !(slice.head && shared)) weights.order.push_back(0);
  for (const std::int64_t bytes : weights.bytes) weights.all += bytes;
  return weights;
}

std::vector<WeightPart> first_share(const StageWeights& weights, std::int64_t replicas) {
  const auto element = static_cast<std::int64_t>(half_bytes);
  std::int64_t left = weights.all / element / replicas;
  std::vector<WeightPart> parts;
  for (std::size_t weight = 0; weight < weights.bytes.size() && left > 0; ++weight) {
    // The last one may be cut.
    parts.push_back({weight, std::min(left, weights.bytes[weight] / element)});
    left -= parts.back().elements;
  }
  return parts;
}

}  // namespace stepcast
