#include "stepcast/sim/network/solitary.hpp"

#include <algorithm>
#include <vector>

namespace stepcast {
namespace {

/// By slot.
using Slots = std::vector<bool>;

bool any(const Slots& slots) { return std::ranges::find(slots, true) != slots.end(); }

/// Slots in flight after the code: issued here or before, and not awaited.
void follow(const Instructions& code, Slots& in_flight) {
  for (const Instruction& instruction : code) {
    // Issuing adds to what is under way, waiting takes from it.
    if (const auto* start = std::get_if<Communicate>(&instruction)) in_flight[start->slot] = true;
    if (const auto* wait = std::get_if<Wait>(&instruction)) in_flight[wait->slot] = false;
  }
}

/// Slots that can be in flight when the epilogue begins: each unit may leave some behind, and a
/// unit only certainly awaits what the prologue issued in its first visit.
Slots before_epilogue(const StageProgram& program) {
  Slots left(program.slots);
  // The prologue and first forwards run once, and what they leave may be awaited anywhere.
  follow(program.prologue, left);
  for (const ChunkProgram& chunk : program.chunks) follow(chunk.first_forward, left);
  // Each unit by itself: a wait in another unit may not come in between.
  const auto visit = [&](const Instructions& code) {
    Slots of_unit(program.slots);
    follow(code, of_unit);
    for (std::size_t slot = 0; slot < left.size(); ++slot)
      if (of_unit[slot]) left[slot] = true;
  };
  for (const ChunkProgram& chunk : program.chunks) {
    for (const Instructions* code :
         {&chunk.forward, &chunk.backward, &chunk.last_backward, &chunk.backward_input,
          &chunk.backward_weight, &chunk.last_backward_weight})
      visit(*code);
    for (const Instructions& pair : chunk.paired) visit(pair);
  }
  return left;
}

}  // namespace

/// Awaiting the call at once keeps later work from running beside it; awaiting the others before
/// keeps earlier work away.
bool runs_alone(const StageProgram& program, std::uint32_t call) {
  // Calls of parts of the job are not met by everybody.
  if (program.calls[call].group != GroupKind::world) return false;
  Slots in_flight = before_epilogue(program);
  bool found = false;
  for (std::size_t i = 0; i < program.epilogue.size(); ++i) {
    const auto* start = std::get_if<Communicate>(&program.epilogue[i]);
    if (start && start->call == call) {
      const auto* wait =
          i + 1 < program.epilogue.size() ? std::get_if<Wait>(&program.epilogue[i + 1]) : nullptr;
      // Something under way before, or work between the call and its wait: flows could meet it.
      if (any(in_flight) || !wait || wait->slot != start->slot) return false;
      found = true;
    }
    follow({program.epilogue[i]}, in_flight);
  }
  return found;
}

bool world_runs_alone(const std::vector<StageProgram>& programs) {
  return std::ranges::all_of(programs, [](const StageProgram& program) {
    for (std::uint32_t i = 0; i < program.calls.size(); ++i) {
      if (program.calls[i].group == GroupKind::world && !runs_alone(program, i)) return false;
    }
    return true;
  });
}

}  // namespace stepcast
