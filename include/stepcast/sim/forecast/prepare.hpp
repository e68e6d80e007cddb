#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// This is the way from a file to a scenario that runs: what `validate` promises, and what every
/// command that runs a scenario calls.
namespace stepcast {

/// This resolves what a checked scenario leaves to be computed, and checks what only then is known.
/// Throws InputError with every finding, at the place where the file or `--set` gave the value.
Scenario prepare(Scenario scenario);

/// This is read_scenario() and prepare(). Throws InputError.
Scenario prepare_scenario(const std::string& path, const std::vector<std::string>& overrides,
                          const SearchPath& search);
Scenario prepare_scenario(const ScenarioDocument& document, const SearchPath& search);

}  // namespace stepcast
