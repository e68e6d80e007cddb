#pragma once
#include <optional>

#include "step_setup.hpp"

namespace stepcast {

/// What the fleet adds to a step that takes `flawless` without it, on average; nothing where none
/// counts.
std::optional<FleetForecast> fleet_forecast(const StepSetup& setup, Seconds flawless);

}  // namespace stepcast
