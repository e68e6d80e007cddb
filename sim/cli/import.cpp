#include "stepcast/sim/import/import.hpp"

#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/written_document.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/launched.hpp"

namespace stepcast::cli {
namespace {

struct ImportFileOptions : PresetOptions {
  std::string file, output;
  bool flags = false;
  LaunchOptions launch;
  std::vector<std::string> overrides;  ///< --set
};

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

/// What was meant by an argument behind a scenario, which takes none.
std::string misplaced_argument(const LaunchOptions& launch) {
  const std::string word = launch.arguments.empty() ? std::string() : launch.arguments.front();
  if (word.ends_with(".yaml") || word.ends_with(".yml"))
    return "is a second file; stepcast compare A B shows several side by side";
  if (word.find('=') != std::string::npos)
    return "is for launch scripts; did you mean --set " + word + "?";
  return "is for launch scripts; a value with blanks is quoted, a list has commas without blanks, "
         "and each change of a scenario has a --set of its own";
}

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

}  // namespace

std::vector<std::string> launch_overrides(const std::string& path,
                                          const std::vector<std::string>& overrides,
                                          const LaunchOptions& launch, const SearchPath& search) {
  std::vector<std::string> all = overrides;
  for (const std::string& override : overrides)
    if (override.find('=') == std::string::npos)
      bad_option("--set " + override,
                 "has no '=', allowed: --set path.to.key=value, without blanks, or in quotes");
  if (launch.from.empty() && !is_launched(path, overrides, search)) {
    if (!launch.arguments.empty() || !launch.environment.empty())
      bad_option(launch.arguments.empty() ? "--env" : launch.arguments.front(),
                 misplaced_argument(launch));
    for (const auto& [option, value] :
         {std::pair{"--devices", &launch.devices}, {"--deepspeed", &launch.deepspeed}})
      if (!value->empty())
        bad_option(option, "is for launch files; a scenario says it by --set cluster.devices=N");
    if (!launch.cluster.empty()) all.push_back("cluster.extends=" + launch.cluster);
    return all;
  }
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) all.push_back(std::string("launch.") + key + "=" + in_single_quotes(value));
  };
  add("from", launch.from);
  add("cluster", launch.cluster);
  add("deepspeed", launch.deepspeed);
  constexpr std::int64_t most_devices = 1 << 20;
  if (!launch.devices.empty())
    all.push_back("launch.devices=" +
                  std::to_string(count_option("--devices", launch.devices, 1, most_devices)));
  if (launch.ignore_unknown) all.emplace_back("launch.ignore_unknown=true");
  const auto add_list = [&](const char* key, const std::vector<std::string>& values) {
    std::string written;
    for (const std::string& value : values)
      written += (written.empty() ? "" : ", ") + in_single_quotes(value);
    if (!values.empty()) all.push_back(std::string("launch.") + key + "=[" + written + "]");
  };
  add_list("arguments", launch.arguments);
  add_list("environment", launch.environment);
  return all;
}

ScenarioDocument sized_scenario(const std::string& path, const std::vector<std::string>& overrides,
                                LaunchOptions launch, std::int64_t first,
                                const SearchPath& search) {
  const auto read = [&] {
    return load_any_scenario(path, launch_overrides(path, overrides, launch, search), search);
  };
  if (!is_launched(path, overrides, search)) return read();
  try {
    return read();
  } catch (const InputError&) {
    // It leaves its size open. What else is wrong with it is said again.
    launch.devices = std::to_string(first);
    return read();
  }
}

Scenario scenario_option(const std::string& path, const std::vector<std::string>& overrides,
                         const LaunchOptions& launch, const SearchPath& search,
                         std::vector<std::string>& warnings) {
  const std::vector<std::string> all = launch_overrides(path, overrides, launch, search);
  if (const auto launched = launched_scenario(path, all, search, &warnings))
    return prepare_scenario(*launched, search);
  return prepare_scenario(path, all, search);
}

void add_import_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      import_file, "import", "write the scenario of a launch file of a training framework",
      "stepcast import train.sh --cluster clusters/dgx-h100.yaml -o train.yaml");
  option(sub, "file FILE", options->file,
         "launch script, list of arguments, recipe, config.json or its folder");
  sub->add_flag("--flags", options->flags, "print the flags that are known, as tables");
  CommandLine::launch(sub, options->launch);
  CommandLine::overrides(sub, options->overrides);
  CommandLine::model_preset(sub, options->overrides);
  option(sub, "-o,--output OUT", options->output, "file to write, without it the terminal");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
