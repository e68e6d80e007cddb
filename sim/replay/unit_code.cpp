#include "unit_code.hpp"

namespace stepcast {

std::uint32_t gradients_per_chunk(const PipelineShape& shape) {
  return static_cast<std::uint32_t>(micro_batches_per_chunk(shape) * shape.slices);
}

const Instructions& unit_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& unit) {
  const ChunkProgram& chunk = program.of(unit.chunk, unit.slice);
  // Gradients are counted when a unit begins, so that the last one sees the full count.
  const bool last = begun.gradients[unit.chunk.value] == gradients_per_chunk(shape);
  switch (unit.kind) {
    case UnitKind::forward:
      return begun.forwards[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
    case UnitKind::backward_input:
      return chunk.backward_input;
    case UnitKind::backward_weight:
      return last ? chunk.last_backward_weight : chunk.backward_weight;
    case UnitKind::backward:
      break;
  }
  return last ? chunk.last_backward : chunk.backward;
}

const Instructions* pair_code(const UnitCounts& begun, const StageProgram& program,
                              const PipelineShape& shape, const Unit& forward,
                              const Unit& backward) {
  const auto& paired = program.of(forward.chunk, forward.slice).paired;
  // Joint code exists for the steady phase alone.
  const bool apart = paired.empty() || begun.forwards[forward.chunk.value] == 1 ||
                     begun.gradients[backward.chunk.value] == gradients_per_chunk(shape);
  return apart ? nullptr : &paired[backward.chunk.value];
}

}  // namespace stepcast
