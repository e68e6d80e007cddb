#pragma once
#include "stepcast/base/section.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {

/// Whether the workload is a graph or traces.
bool names_task_graph(const Node& root);
/// The document without the sections that a graph says; each that is there is reported.
Node without_job(const Node& root, Reading& reading);
/// Reads the graph that `workload` names; what is wrong goes to `reading`.
void read_task_graph(const Node& root, const SearchPath& search, ScenarioDraft& draft,
                     Reading& reading);
/// Of a scenario with a graph only the hardware is left to check.
void check_task_graph(const Scenario& scenario, Checks& checks);

}  // namespace stepcast
