#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// A forecast without its run: layers and memory of each stage, as forecast() has them. Whatever
/// depends on time is zero.
Forecast memory_forecast(const Scenario& scenario);

}  // namespace stepcast
