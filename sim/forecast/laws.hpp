#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// Holds a finished forecast to what is conserved in every step, whatever the scenario says: the
/// layers of all chunks are the model's, no FLOP of the model is left out, the parts of a rank's
/// time add up and none is negative, and all devices together hold each state at least once. Takes
/// no longer than adding up the results. docs/models/laws.md, "In every run".
/// Throws ContractError: what is broken is a defect of Stepcast, never of the input.
void check_laws(const Scenario& scenario, const LayerTable& layers, const Forecast& forecast);

}  // namespace stepcast
