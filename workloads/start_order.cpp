#include "start_order.hpp"

#include <map>

namespace stepcast {

void start_as_issued(const std::vector<StageCall>& calls, Instructions& instructions) {
  std::map<GroupKind, std::uint32_t> under_way;  // the slot of the last one of each group
  Instructions out;
  for (const Instruction& instruction : instructions) {
    out.push_back(instruction);
    if (const auto* wait = std::get_if<Wait>(&instruction))
      std::erase_if(under_way, [&](const auto& entry) { return entry.second == wait->slot; });
    const auto* communicate = std::get_if<Communicate>(&instruction);
    if (communicate == nullptr) continue;
    const StageCall& call = calls.at(communicate->call);
    if (call.stream != Stream::data) continue;
    // The first one of its group that is under way waits for none.
    const auto [last, first] = under_way.try_emplace(call.group, communicate->slot);
    if (first) continue;
    if (last->second != communicate->slot) out.push_back(Wait{last->second});
    last->second = communicate->slot;
  }
  instructions = std::move(out);
}

void start_as_issued(const std::vector<StageCall>& calls, ChunkProgram& chunk) {
  for (Instructions* list :
       {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
        &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
    start_as_issued(calls, *list);
  for (Instructions& pair : chunk.paired) start_as_issued(calls, pair);
}

}  // namespace stepcast
