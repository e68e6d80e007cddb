#pragma once
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {

/// The map of a job that traces describe: every rank is a class, and every call is planned for the
/// members that its group has. All flows go over links that others may use, too.
NetworkMap traced_network_map(const NetworkMapInput& input, const TaskGraph::Traced& traced);

}  // namespace stepcast
