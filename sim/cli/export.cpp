#include "stepcast/sim/import/export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::cli {
namespace {

struct ExportOptions : PresetOptions {
  std::string scenario, to, output;
  LaunchOptions launch;
  std::vector<std::string> overrides;  ///< --set
};

/// Which frameworks can say a scenario, and what the others lack.
std::string exports_table(const Scenario& scenario) {
  std::string text = "  framework    says this scenario\n";
  for (const std::string& kind : export_kinds()) {
    const LaunchExport file = export_launch(scenario, kind);
    text += fmt::format("  {:<12} {}\n", kind,
                        file.lacking.empty() ? "yes" : "no, it has no flag or field for");
    for (const std::string& key : file.lacking) text += "                 " + key + "\n";
  }
  return text;
}

/// The launch file of a scenario; without `to` which frameworks can say it. Throws InputError with
/// every key that the framework lacks.
Outcome export_file(const ExportOptions& options) {
  const std::vector<std::string> kinds = export_kinds();
  if (!options.to.empty() && std::ranges::find(kinds, options.to) == kinds.end())
    bad_option("--to", "is '" + options.to + "', allowed: " + joined(kinds));
  if (options.to.empty() && !options.output.empty())
    bad_option("--output", "needs --to, allowed: " + joined(kinds));
  Outcome outcome;
  const Scenario scenario = scenario_option(options.scenario, options.overrides, options.launch,
                                            default_search_path(options.presets), outcome.warnings);
  if (options.to.empty()) {
    outcome.text = exports_table(scenario);
    return outcome;
  }
  LaunchExport file = export_launch(scenario, options.to);
  // Every key that the framework cannot say is an error of its own, since a file without it would
  // start another job.
  if (!file.lacking.empty()) {
    std::vector<Diagnostic> all;
    for (const std::string& key : file.lacking)
      all.push_back({{options.scenario}, {}, options.to + " has no way to say " + key});
    throw InputError(std::move(all));
  }
  if (options.output.empty() || options.output == "-")
    outcome.text = std::move(file.text);
  else
    write_file(options.output, file.text);
  return outcome;
}

}  // namespace

void add_export_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      export_file, "export", "write a scenario as the launch file of a training framework",
      "stepcast export deepseek-v3-2048.yaml --to mindformers -o pretrain.yaml", OutputForm::any);
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  option(sub, "--to KIND", options->to,
         "megatron, mindspeed or mindformers; without it: which of them can say it");
  CommandLine::launch(sub, options->launch);
  CommandLine::overrides(sub, options->overrides);
  CommandLine::model_preset(sub, options->overrides);
  option(sub, "-o,--output OUT", options->output, "file to write, without it the terminal");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
