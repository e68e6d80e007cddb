#include "orderly.hpp"

namespace stepcast {
namespace {

bool awaits(const Instructions& code, std::size_t next, std::uint32_t slot) {
  const Wait* wait = next < code.size() ? std::get_if<Wait>(&code[next]) : nullptr;
  return wait && wait->slot == slot;
}

void read(const StageProgram& program, const Instructions& code, Orderly& orderly) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto* start = std::get_if<Communicate>(&code[i]);
    if (!start) continue;
    // One place where it is not awaited at once is enough: the call is the same everywhere.
    if (!awaits(code, i + 1, start->slot)) orderly.awaited_at_once[start->call] = false;
    const auto stream = static_cast<std::size_t>(program.calls[start->call].stream);
    if (!start->after_compute) orderly.begin_early.set(stream);
  }
}

}  // namespace

Orderly orderly(const StageProgram& program) {
  Orderly result{std::vector<bool>(program.calls.size(), true), {}};
  for (const ChunkProgram& chunk : program.chunks) {
    for (const Instructions* code :
         {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
          &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
      read(program, *code, result);
    for (const Instructions& pair : chunk.paired) read(program, pair, result);
  }
  read(program, program.epilogue, result);
  // What a prologue issues may be under way whatever the units do.
  for (const Instruction& instruction : program.prologue)
    if (const auto* start = std::get_if<Communicate>(&instruction))
      result.awaited_at_once[start->call] = false;
  return result;
}

}  // namespace stepcast
