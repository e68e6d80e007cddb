#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/topology/chunk_placement.hpp"

/// How the layers of a model are spread over the virtual stages of a pipeline when the scenario
/// leaves it open. Formulas: docs/models/pipeline.md, "Layers of a chunk".
namespace stepcast {

/// What one of device and host takes [s].
struct PieceTimes {
  std::vector<double> prefix{0};  ///< forward and backward of all layers before each
  double before = 0, after = 0;   ///< embedding; head and MTP modules
};

/// A balanced split looks at these times, all in seconds, without communication: those of the
/// device, and beside them those of the busier thread of the host, less what the device waits
/// meanwhile. They depend on neither pp, vpp nor the number of micro-batches.
struct LayerTimes : PieceTimes {
  PieceTimes host{{}};  ///< without layers: it always keeps ahead
};

/// Of the time that stages in lockstep would wait between chunks, what simulations show to be lost
/// (docs/models/plan.md).
inline constexpr double lost_between_chunks = 0.5;

/// Computing time per micro-batch in the steady state [s], from the busiest stage of each chunk of
/// a loop. Stages pass chunk after chunk in step, so a long chunk of one stage is not made up for
/// by a short one; while a round of micro-batches goes over from one chunk to the next, the stages
/// that have the shorter one wait for the others, half of the time.
double steady_period(std::int64_t stages, const std::vector<double>& busiest);

/// Time of a micro-batch under a split [s]: of each virtual stage the longer of device and host.
struct SplitLoad {
  double device = 0;  ///< of all chunks of the busiest device: no order is faster
  double period = 0;  ///< of the busiest stage of each chunk, where stages pass chunks in step
};
SplitLoad split_load(const LayerTimes& times, const ChunkMap& map,
                     const std::vector<std::size_t>& ends);

/// The ends of equal numbers of layers on each virtual stage; the first ones take the
/// rest.
std::vector<std::size_t> even_ends(std::size_t layers, std::size_t parts);

/// A split has to save this much of a device or of a pipeline [part]: what communication of layers
/// can turn round was less in the plans that docs/models/operators.md shows.
inline constexpr double least_split_gain = 0.015;

/// Of each virtual stage, forward and backward of a micro-batch [s].
std::vector<double> part_times(const LayerTimes& times, const std::vector<std::size_t>& ends);

/// Splits that begin with even_ends() and move one layer after another, each with a busiest device
/// that is busy for less time than before. The first one saves least_split_gain of it.
std::vector<std::vector<std::size_t>> lighter_ends(const LayerTimes& times, const ChunkMap& map);

/// The ends of the layers of each virtual stage: the last of lighter_ends() in which no chunk gets
/// longer than the others make up for, or even_ends(). It looks at no link and simulates nothing.
std::vector<std::size_t> balanced_ends(const LayerTimes& times, const ChunkMap& map);

}  // namespace stepcast
