#pragma once
#include <vector>

#include "stepcast/workloads/program.hpp"

/// Kernels that start in the order in which they were issued (docs/models/replay.md). Private to
/// workloads/.
namespace stepcast {

/// With one work queue for all streams, what is issued behind a collective starts no earlier than
/// the collective does, and that starts behind the one before it of its group. So the compute
/// stream waits for that one. This looks at gathers and reductions of parameters only, and only at
/// those of the list itself: what earlier units have left under way is not waited for. `calls` are
/// those of the program.
void start_as_issued(const std::vector<StageCall>& calls, Instructions& instructions);
/// In all that a chunk runs.
void start_as_issued(const std::vector<StageCall>& calls, ChunkProgram& chunk);

}  // namespace stepcast
