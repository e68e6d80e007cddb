#pragma once
#include <rapidcheck.h>

#include <set>
#include <vector>

#include "lowering_fixtures.hpp"

/// Lowered workloads, and what a rank runs of them in a step.
namespace stepcast::lowering {

inline std::vector<StageProgram> lower_all(const WorkloadSpec& spec) {
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  std::vector<StageProgram> programs;
  for (std::uint32_t stage = 0; stage < spec.plan.pp; ++stage)
    programs.push_back(lower_stage(spec, layers, cluster, Stage{stage}));
  return programs;
}

/// What one rank runs in a step of `units` micro-batches, in the order gpipe would give.
inline Instructions step(const StageProgram& program, int units) {
  Instructions all = program.prologue;
  const auto append = [&](const Instructions& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const ChunkProgram& chunk : program.chunks)
    for (int unit = 0; unit < units; ++unit)
      append(unit == 0 ? chunk.first_forward : chunk.forward);
  for (auto chunk = program.chunks.rbegin(); chunk != program.chunks.rend(); ++chunk)
    for (int unit = 0; unit < units; ++unit)
      append(unit + 1 == units ? chunk->last_backward : chunk->backward);
  append(program.epilogue);
  return all;
}

/// Every Communicate is awaited later, no Wait comes before its Communicate, indices are in range.
inline void check_slots(const StageProgram& program, const Instructions& code) {
  std::set<std::uint32_t> open, issued;
  for (const Instruction& instruction : code) {
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      RC_ASSERT(call->call < program.calls.size());
      RC_ASSERT(call->slot < program.slots);
      open.insert(call->slot);
      issued.insert(call->slot);
    } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
      RC_ASSERT(issued.contains(wait->slot));
      open.erase(wait->slot);
    } else if (const auto* run = std::get_if<Compute>(&instruction)) {
      RC_ASSERT(run->segment < program.segments.size());
    }
  }
  RC_ASSERT(open.empty());
}

}  // namespace stepcast::lowering
