#pragma once
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// The scenario with every key and its value, presets merged, as YAML that reads back as
/// the same scenario (equal sha256), without `expect`.
std::string resolved_yaml(const Scenario& scenario);

}  // namespace stepcast
