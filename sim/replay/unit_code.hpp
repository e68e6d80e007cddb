#pragma once
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Units of each chunk that a rank has begun in a step, the one at hand included. [chunk]
struct UnitCounts {
  std::vector<std::uint32_t> forwards;
  std::vector<std::uint32_t> gradients;  ///< that make gradients of weights

  void begin(const Unit& unit) {
    if (unit.kind == UnitKind::forward) ++forwards[unit.chunk.value];
    const bool makes_gradients =
        unit.kind == UnitKind::backward || unit.kind == UnitKind::backward_weight;
    if (makes_gradients) ++gradients[unit.chunk.value];
  }
};

/// Units of a chunk that make gradients of its weights in one step.
std::uint32_t gradients_per_chunk(const PipelineShape& shape);

/// The code of a unit that has begun: the first forward awaits gathered parameters and the last
/// gradients start reductions, so that both have code of their own.
const Instructions& unit_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& unit);

/// The code of two units that run as one; nothing where they run one after the other: the first
/// forward of a chunk, the last backward and what the program does not pair.
const Instructions* pair_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& forward,
                              const Unit& backward);

}  // namespace stepcast
