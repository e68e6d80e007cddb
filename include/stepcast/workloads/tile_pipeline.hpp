#pragma once
#include <cstdint>
#include <span>

#include "stepcast/base/units.hpp"

/// Cube and vector cores of one device share the work inside one kernel
/// (docs/models/expert_parallel.md).
namespace stepcast {

/// A stage says what every tile does there, and on which cores.
struct TileStage {
  enum class Cores { cube, vector };
  Cores cores;
  Seconds time;  ///< of one tile
};

/// The time until `tiles` equal tiles have passed all stages in order, each kind of cores
/// working on one task at a time: a list schedule in which free cores take the task that can start
/// first, of the oldest tile. One tile takes the sum of its stages; many take no less than the
/// busier cores.
Seconds tile_pipeline_time(std::span<const TileStage> stages, std::int64_t tiles);

}  // namespace stepcast
