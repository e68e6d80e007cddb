#include "recording_size.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "replayer.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Work and what is issued leave an entry whatever happens; waits may have nothing to wait for.
double certain_entries(const Instructions& code) {
  return static_cast<double>(std::ranges::count_if(code, [](const Instruction& instruction) {
    return std::holds_alternative<Compute>(instruction) ||
           std::holds_alternative<Communicate>(instruction);
  }));
}

}  // namespace

const Instructions& usual_code(const ChunkProgram& chunk, UnitKind kind) {
  // The usual units, without what only the first or last of a chunk does: an estimate of length
  // needs no more.
  switch (kind) {
    case UnitKind::forward:
      return chunk.forward;
    case UnitKind::backward_input:
      return chunk.backward_input;
    case UnitKind::backward_weight:
      return chunk.backward_weight;
    case UnitKind::backward:
      break;
  }
  return chunk.backward;
}

double least_entries(const StageProgram& program, const StageOrder& order) {
  std::map<std::tuple<UnitKind, std::uint32_t, std::uint32_t>, double> known;
  double sum = 0;
  for (const Unit& unit : order) {
    // Pairs leave what their joint code leaves, which is not counted here.
    if (unit.with_next) return 0;
    // Units of a kind, chunk and slice run the same code: counted once.
    const auto [entry, added] =
        known.try_emplace({unit.kind, unit.chunk.value, unit.slice.value}, 0);
    if (added)
      entry->second = certain_entries(usual_code(program.of(unit.chunk, unit.slice), unit.kind));
    sum += entry->second;
  }
  return sum;
}

void refuse_long_recording(double entries) {
  if (entries <= static_cast<double>(most_recorded_entries)) return;
  refuse_input({}, {},
               "the run is too long to record: it has " +
                   std::to_string(static_cast<std::uint64_t>(entries)) +
                   " entries or more, which take " +
                   human(Bytes{entries * static_cast<double>(sizeof(Recording::Entry))}) +
                   " of memory, allowed: " + std::to_string(most_recorded_entries) +
                   " entries; simulate fewer steps, micro-batches or ranks apart from each other");
}

/// Known before anything is simulated, so that nobody waits for a refusal.
double Replayer::recorded_entries() const {
  std::vector<double> of_stage(input_.orders.size(), -1);
  double sum = 0;
  for (RankIndex r = 0; r < map_.classes.stage.size(); ++r) {
    if (!recorder_->records(r)) continue;
    const std::uint32_t stage = map_.classes.stage[r].value;
    if (of_stage[stage] < 0) of_stage[stage] = least_entries(program_of(r), input_.orders[stage]);
    sum += of_stage[stage] * static_cast<double>(input_.steps);
  }
  return sum;
}

}  // namespace stepcast
