#pragma once
#include <cstdint>
#include <vector>

namespace stepcast::launch {

/// Layers that embedding and head stand for where a framework deals out layers.
struct EndLayers {
  std::int64_t first, last;
};
/// Layers of each chunk and stage, [chunk][stage]: with the ends they are dealt out evenly over
/// `count` chunks of `stages` stages, the first take what is left, and the ends are taken off.
/// Nothing where a chunk would hold less than no layer.
std::vector<std::vector<std::int64_t>> dealt_layers(std::int64_t layers, EndLayers ends,
                                                    std::int64_t stages, std::int64_t count);

}  // namespace stepcast::launch
