#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// Holds the last layer of the model by itself against the same layer with whole products;
/// nothing where they are whole (docs/models/expert_parallel.md, "When products in pieces lose").
std::optional<SplitProducts> split_products(const Scenario& scenario, const Placement& placement);

}  // namespace stepcast
