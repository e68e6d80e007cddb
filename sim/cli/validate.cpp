#include <algorithm>

#include "commands.hpp"
#include "stepcast/sim/scenario.hpp"

namespace stepcast::cli {
namespace {

/// Reads the file as what its keys say it is.
void read_by_kind(const std::string& path, const SearchPath& search) {
  const Node root = load_document(path, search);
  const auto has = [&](const char* key) { return root.find(key) != nullptr; };
  const bool scenario = has("cluster") || has("parallel") || has("training");
  if (!scenario && (has("device") || has("node"))) {
    read_cluster(path, {}, search);
  } else if (!scenario && (has("hidden") || has("layers"))) {
    read_model(path, search);
  } else {
    read_scenario(path, {}, search);
  }
}

}  // namespace

Outcome validate(const ValidateOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  Outcome outcome;
  for (const std::string& file : options.files) {
    try {
      read_by_kind(file, search);
      outcome.text += file + ": valid\n";
    } catch (const InputError& error) {
      outcome.complaint += std::string(error.what()) + "\n";
      outcome.exit_code = bad_input;
    }
  }
  return outcome;
}

Outcome schema() { return {scenario_schema()}; }

}  // namespace stepcast::cli
