#include "dealt_layers.hpp"

#include <algorithm>

namespace stepcast::launch {

std::vector<std::vector<std::int64_t>> dealt_layers(std::int64_t layers, EndLayers ends,
                                                    std::int64_t stages, std::int64_t count) {
  const std::int64_t all = layers + ends.first + ends.last;
  std::vector<std::int64_t> dealt;
  for (std::int64_t i = 0; i < count; ++i) dealt.push_back(all / count + (i < all % count ? 1 : 0));
  // Embedding and head took the places of layers.
  dealt.front() -= ends.first;
  dealt.back() -= ends.last;
  if (std::ranges::min(dealt) < 0) return {};
  std::vector<std::vector<std::int64_t>> table;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % stages == 0) table.emplace_back();
    table.back().push_back(dealt[static_cast<std::size_t>(i)]);
  }
  return table;
}

}  // namespace stepcast::launch
