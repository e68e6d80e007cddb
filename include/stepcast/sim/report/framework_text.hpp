#pragma once
#include <string>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// One line: `framework  MindSpeed 2.3, assumed; --set framework=...`; empty without a framework.
std::string framework_line(const Scenario& scenario);
/// The keys that the framework says, each with its value and where the rule was read. It says so
/// where the scenario has no framework.
std::string framework_keys_text(const Scenario& scenario);

}  // namespace stepcast
