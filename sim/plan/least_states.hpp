#pragma once
#include "layer_costs.hpp"

namespace stepcast {

/// Bytes of weights, gradients and optimizer on the mean stage under this zero, as far as they stay
/// on the device whatever the layout is: the fullest stage has no less. `parameters` are the
/// piece_parameters() of the scenario.
double least_states(const Scenario& scenario, const std::array<PieceCost, plan_pieces>& parameters,
                    std::int64_t zero);

}  // namespace stepcast
