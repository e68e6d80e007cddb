#include "stepcast/sim/forecast/prepare.hpp"

#include "resolving.hpp"
#include "stepcast/sim/engine/platform_file.hpp"
#include "stepcast/sim/import/launched.hpp"

namespace stepcast {

Scenario prepare(Scenario scenario, IdleAlgorithms idle) {
  static const Node nowhere;
  const Node& root = scenario.document ? *scenario.document : nowhere;
  Reading reading;
  // Scenarios made by programs have no document: errors then have keys and no places.
  Checks checks{root, reading};
  try {
    if (scenario.cluster.network.platform) {
      // Links of the file must be there before stalls can name them.
      load_platform(scenario.cluster, "cluster.");
      check_stalled_links(scenario, checks);
    }
    // Slices first: programs depend on them.
    resolve_slices(scenario, checks);
    if (checks.all_good()) check_resolved(scenario, idle, checks);
  } catch (const InputError& error) {  // of what plans a collective, which knows keys but no places
    for (const Diagnostic& found : error.diagnostics()) checks.fail(found.path, found.message);
  }
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return scenario;
}

Scenario prepare_scenario(const std::string& path, const std::vector<std::string>& overrides,
                          const SearchPath& search, IdleAlgorithms idle) {
  if (const auto launched = launched_scenario(path, overrides, search))
    return prepare(read_scenario(*launched, search), idle);
  return prepare(read_scenario(path, overrides, search), idle);
}

Scenario prepare_scenario(const ScenarioDocument& document, const SearchPath& search,
                          IdleAlgorithms idle) {
  return prepare(read_scenario(document, search), idle);
}

}  // namespace stepcast
