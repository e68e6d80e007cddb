#pragma once
#include <cstddef>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// About 1.5 GB; a folded step of 4096 devices has some hundred thousand.
inline constexpr std::size_t most_recorded_entries = 16'000'000;

/// Entries that a rank with this program and order leaves in one step at least, up to the few by
/// which the first and the last unit of a chunk differ from the others; 0 where units are paired.
double least_entries(const StageProgram& program, const StageOrder& order);

/// Throws InputError, with the memory it would take, where that is more than may be recorded.
void refuse_long_recording(double entries);

}  // namespace stepcast
