#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// Scenarios that stand in launch files: every reader of a scenario takes them.
namespace stepcast {

/// Whether a path is a launch file, or a scenario that names one (`launch`).
bool is_launched(const std::string& path, const std::vector<std::string>& overrides,
                 const SearchPath& search);

/// The scenario of a launch file, or of a scenario file that names one, whose other keys count
/// instead of what the launch file says; none: `path` is a scenario like any other. Overrides that
/// begin with `launch.` are keys of `launch`. What was met and is not in it goes to `warnings`.
/// Throws InputError as import_launch.
std::optional<ScenarioDocument> launched_scenario(const std::string& path,
                                                  const std::vector<std::string>& overrides,
                                                  const SearchPath& search,
                                                  std::vector<std::string>* warnings = nullptr);

/// load_scenario, also of what launched_scenario takes. Throws InputError.
ScenarioDocument load_any_scenario(const std::string& path,
                                   const std::vector<std::string>& overrides,
                                   const SearchPath& search);

}  // namespace stepcast
