#include "command_line.hpp"
#include "option.hpp"

namespace stepcast::cli {

void CommandLine::launch(CLI::App* sub, LaunchOptions& options) {
  launch_size(sub, options);
  option(sub, "--cluster PRESET", options.cluster,
         "another cluster, which a launch file needs: its file, or the name of a preset");
}

void CommandLine::launch_kind(CLI::App* sub, LaunchOptions& options) {
  sub->add_flag_callback(
      "--arguments", [&options] { options.from = "arguments"; },
      "the file is the log of a run, which prints its arguments, or a configuration that it wrote");
  option(sub, "--from KIND", options.from, "kind of a launch file, where its name does not tell");
  option(sub, "--deepspeed FILE", options.deepspeed,
         "DeepSpeed's JSON beside a config.json or a script");
  repeated(sub, "--env NAME=VALUE", options.environment,
           "a variable that a launch script finds set; may be repeated");
  option(sub, "arguments WORD", options.arguments, "after --: arguments of a launch script");
  sub->add_flag("--ignore-unknown", options.ignore_unknown,
                "list unknown flags of a launch file instead of refusing them");
}

void CommandLine::launch_size(CLI::App* sub, LaunchOptions& options) {
  launch_kind(sub, options);
  option(sub, "--devices N", options.devices,
         "size of the job, where a launch file does not say it");
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

void add_export_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      export_file, "export", "write a scenario as the launch file of a training framework",
      "stepcast export scenarios/deepseek-v3-2048.yaml --to mindformers -o pretrain.yaml",
      OutputForm::any);
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

void add_edit_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      edit, "edit", "write keys into the text of a file; comments and layout stay",
      "stepcast edit scenario.yaml --set parallel.tp=4 --set parallel.dp=auto -o scenario.yaml",
      OutputForm::any);
  required(sub, "file FILE", options->file,
           "scenario, sweep or cluster file, - for standard input");
  CommandLine::overrides(sub, options->overrides);
  option(sub, "-o,--output OUT", options->output, "file to write, without it the terminal");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
