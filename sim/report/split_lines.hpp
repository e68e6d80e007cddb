#pragma once
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// What tokens of experts in pieces cost and hide; empty where they are whole.
std::string pieces_line(const Scenario& scenario, const Forecast& forecast);
/// The same of products beside the exchanges of tensor ranks; what the host issues for it stands
/// apart.
std::string products_line(const Scenario& scenario, const Forecast& forecast);

}  // namespace stepcast
