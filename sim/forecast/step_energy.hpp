#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// The devices of the job over one step of the mean rank. The cluster says what a device takes.
/// Model: docs/models/clocks.md.
Energy step_energy(const Scenario& scenario, const Forecast& forecast);

}  // namespace stepcast
