#pragma once
#include "stepcast/workloads/network_form.hpp"

/// Say how a step is simulated: the closed choices of `simulate:` that the engine and the
/// network share with the scenario.
namespace stepcast {

/// Says whether ranks that behave alike are simulated once or each on its own.
enum class Fold { automatic, off };

/// Says who replays the step: the fast engine, or SimGrid with nothing of ours in between,
/// which is slow and the judge of the other (docs/models/judge.md).
enum class StepEngine { fast, simgrid };

/// Says who shares the links among the flows that meet. All give the same rates; `incremental`
/// solves only what a change moves, and has cost less in every run that was measured, which is why
/// `automatic` takes it (docs/models/engine.md).
enum class Sharing { automatic, simgrid, incremental };

}  // namespace stepcast
