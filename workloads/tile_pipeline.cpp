#include "stepcast/workloads/tile_pipeline.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace stepcast {

Seconds tile_pipeline_time(std::span<const TileStage> stages, std::int64_t tiles) {
  struct Tile {
    std::size_t next = 0;  ///< stage
    Seconds ready{0};
  };
  std::vector<Tile> all(static_cast<std::size_t>(tiles));
  std::array<Seconds, 2> free{};
  const auto free_at = [&](const Tile& tile) -> Seconds& {
    return free[static_cast<std::size_t>(stages[tile.next].cores)];
  };
  // List schedule: the task that can start first, of equals that of the oldest tile.
  for (std::size_t left = all.size() * stages.size(); left > 0; --left) {
    Tile* first = nullptr;
    Seconds start{0};
    for (Tile& tile : all) {
      if (tile.next == stages.size()) continue;
      const Seconds can = std::max(tile.ready, free_at(tile));
      if (first == nullptr || can < start) first = &tile, start = can;
    }
    Seconds& cores = free_at(*first);
    first->ready = cores = start + stages[first->next].time;
    ++first->next;
  }
  return std::max(free[0], free[1]);
}

}  // namespace stepcast
