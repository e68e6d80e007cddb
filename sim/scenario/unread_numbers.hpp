#pragma once
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Drops the numbers of parts that the job does not have: those of experts in a dense model, of
/// nodes' network in a job of one node.
void drop_unread(const Scenario& scenario, std::vector<Assumption>& numbers);

}  // namespace stepcast
