#pragma once
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// The task graph of a scenario's step. Throws InputError naming the keys by which ranks of a stage
/// differ, or steps overlap: a graph holds one program per stage and one step.
TaskGraph step_graph(const Scenario& scenario);

}  // namespace stepcast
