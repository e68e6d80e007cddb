#include "stepcast/sim/import/import.hpp"

#include "commands.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast::cli {
namespace {

ImportOptions import_options(const LaunchOptions& launch,
                             const std::vector<std::string>& overrides) {
  ImportOptions options{launch.from,           {},
                        launch.cluster,        overrides,
                        launch.ignore_unknown, launch.deepspeed,
                        launch.arguments,      launch.environment};
  constexpr std::int64_t most_devices = 1 << 20;
  if (!launch.devices.empty())
    options.devices = count_option("--devices", launch.devices, 1, most_devices);
  return options;
}

}  // namespace

Outcome import_file(const ImportFileOptions& options) {
  if (options.flags) return {launch_flags_page()};
  if (options.file.empty()) bad_option("FILE", "is missing, give a launch file");
  ImportedScenario imported =
      import_launch(options.file, import_options(options.launch, options.overrides),
                    default_search_path(options.presets));
  Outcome outcome;
  outcome.warnings = std::move(imported.warnings);
  if (options.output.empty() || options.output == "-") {
    outcome.text = std::move(imported.text);
  } else {
    write_file(options.output, imported.text);
  }
  return outcome;
}

Scenario scenario_option(const std::string& path, const std::vector<std::string>& overrides,
                         const LaunchOptions& launch, const SearchPath& search,
                         std::vector<std::string>& warnings) {
  // With --from any file is a launch file.
  const bool asked = !launch.from.empty();
  if (!asked && (path == "-" || !is_launch_file(path, search))) {
    if (!launch.arguments.empty() || !launch.environment.empty())
      bad_option(launch.arguments.empty() ? "--env" : launch.arguments.front(),
                 "is for launch scripts; each change of a scenario has a --set of its own");
    for (const auto& [option, value] :
         {std::pair{"--devices", &launch.devices}, {"--deepspeed", &launch.deepspeed}})
      if (!value->empty())
        bad_option(option, "is for launch files; a scenario says it by --set cluster.devices=N");
    std::vector<std::string> all = overrides;
    if (!launch.cluster.empty()) all.push_back("cluster.extends=" + launch.cluster);
    return prepare_scenario(path, all, search);
  }
  ImportedScenario imported = import_launch(path, import_options(launch, overrides), search);
  warnings.insert(warnings.end(), imported.warnings.begin(), imported.warnings.end());
  return prepare_scenario(imported.document, search);
}

}  // namespace stepcast::cli
