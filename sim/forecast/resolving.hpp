#pragma once
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/checks.hpp"

/// The parts of prepare_scenario().
namespace stepcast {

/// Tells the plan the tokens of `schedule.slices: balanced(n)`; equal slices where their step is no
/// longer. Reports where no slices exist.
void resolve_slices(Scenario& scenario, Checks& checks);

/// What only a resolved scenario can be checked for: layers computed again against those that a
/// chunk holds, and the algorithms and the form of the network against the calls and groups of the
/// programs. Plans calls, replays nothing. Throws InputError without places where a call cannot be
/// planned.
void check_resolved(const Scenario& scenario, IdleAlgorithms idle, Checks& checks);

}  // namespace stepcast
