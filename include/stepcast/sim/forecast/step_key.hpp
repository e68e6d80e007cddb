#pragma once
#include <optional>
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// This is all that a step is replayed from, as bytes: scenarios with equal texts have equal step
/// times, however their devices and hosts differ. There is none where devices do more than their
/// programs say (stalls, nodes of several kinds) and where there is no model to lower (synthetic
/// workloads, task graphs) or micro-batches differ (documents). `layers`: on which stages
/// (layers_of()).
std::optional<std::string> step_key(const Scenario& scenario, const LayerTable& layers);

}  // namespace stepcast
