#pragma once
#include "stepcast/workloads/network_form.hpp"

/// These say how a step is simulated: the closed choices of `simulate:` that the engine and the
/// network share with the scenario.
namespace stepcast {

/// This says whether ranks that behave alike are simulated once or each on its own.
enum class Fold { automatic, off };

/// This says who replays the step: the fast engine, or SimGrid with nothing of ours in between,
/// which is slow and the judge of the other (docs/models/judge.md).
enum class StepEngine { fast, simgrid };

/// This says who shares the links among the flows that meet. All give the same rates; `incremental`
/// solves only what a change moves, which pays where thousands of links are joined; `automatic`
/// takes it from `most_links_of_simgrid` links on (docs/models/engine.md).
enum class Sharing { automatic, simgrid, incremental };

}  // namespace stepcast
