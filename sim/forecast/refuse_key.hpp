#pragma once
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Throws InputError at that key of the scenario.
[[noreturn]] void refuse_key(const Scenario& scenario, const std::string& path,
                             const std::string& message);

}  // namespace stepcast
