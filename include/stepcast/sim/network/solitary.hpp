#pragma once
#include <vector>

#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Says whether a world collective runs when nothing else of the step can be in flight: every
/// rank is in it, and each has awaited all of its other communications before and awaits this one
/// at once. `call` indexes the stage's calls. Such a call can meet no other flow
/// (docs/models/folding.md).
bool runs_alone(const StageProgram& program, std::uint32_t call);

/// Says whether every world collective of every stage runs alone.
bool world_runs_alone(const std::vector<StageProgram>& programs);

}  // namespace stepcast
