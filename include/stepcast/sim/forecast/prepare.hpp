#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// From a file to a scenario that runs: what `validate` promises, and what every command that runs
/// a scenario calls.
namespace stepcast {

/// Resolves what a checked scenario leaves to be computed, and checks what only then is known.
/// Throws InputError with every finding, at the place where the file or `--set` gave the value.
Scenario prepare(Scenario scenario);

/// read_scenario() and prepare(). Throws InputError.
Scenario prepare_scenario(const std::string& path, const std::vector<std::string>& overrides,
                          const SearchPath& search);
Scenario prepare_scenario(const ScenarioDocument& document, const SearchPath& search);

}  // namespace stepcast
