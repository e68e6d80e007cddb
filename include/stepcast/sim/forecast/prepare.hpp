#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// The way from a file to a scenario that runs: what `validate` promises, and what every
/// command that runs a scenario calls.
namespace stepcast {

/// Whether `communication.algorithm` of a collective that no rank makes is refused; points of a
/// sweep or a plan, which share their keys, keep it.
enum class IdleAlgorithms { refused, kept };

/// Resolves what a checked scenario leaves to be computed, and checks what only then is known.
/// Throws InputError with every finding, at the place where the file or `--set` gave the value.
Scenario prepare(Scenario scenario, IdleAlgorithms idle = IdleAlgorithms::refused);

/// read_scenario() and prepare(). Throws InputError.
Scenario prepare_scenario(const std::string& path, const std::vector<std::string>& overrides,
                          const SearchPath& search, IdleAlgorithms idle = IdleAlgorithms::refused);
Scenario prepare_scenario(const ScenarioDocument& document, const SearchPath& search,
                          IdleAlgorithms idle = IdleAlgorithms::refused);

/// The keys `communication.algorithm.KIND` of a resolved scenario that name an algorithm
/// of a collective which no rank makes.
std::vector<std::string> idle_algorithms(const Scenario& scenario);

}  // namespace stepcast
