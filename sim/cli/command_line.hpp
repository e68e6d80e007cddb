#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI
namespace stepcast::cli {

/// Whether each of several presets is a variant of its own.
enum class PresetCount { one, several };

/// Whether the file of `--output` is YAML, or has whatever form its command gives it.
enum class OutputForm { yaml, any };

/// Checks the files that a command line names for writing, before any work: an hour of simulation
/// should not end at a folder that is not there. `given` are the options with their values; those
/// that name no output are passed over. Throws InputError, all at once: a folder that does not
/// exist or is not writable, a read-only file, a directory, a link to nothing, `-` where only a
/// file is taken, one file or stdout for two outputs, an ending that says another kind of text than
/// the option writes.
void check_outputs(OutputForm form, std::vector<std::pair<std::string, std::string>> given);

/// The commands of the binary and their options. A family of commands adds itself with a function
/// of the list below, whose commands command_line.cpp names; the options live as long as the body
/// that reads them.
class CommandLine {
 public:
  /// With the commands that `first`, the first word that is given, can mean: the options of all
  /// are a quarter of what a short answer costs.
  explicit CommandLine(std::string_view first);
  ~CommandLine();

  /// Parses, runs the chosen command and prints what it answers. Returns the exit code.
  int main(int argc, char** argv);
  /// Parses and runs without printing; what a wrong command line would have printed is the
  /// complaint. Once per process. Throws what the command throws.
  Outcome answer(const std::vector<std::string>& arguments);

  /// A new command; `example` is one line for its help.
  CLI::App* command(const char* name, const char* what, const char* example,
                    std::function<Outcome()> body, OutputForm output = OutputForm::yaml);
  /// The same with the options that its body reads.
  template <class Options>
  std::pair<CLI::App*, std::shared_ptr<Options>> command(Outcome (*body)(const Options&),
                                                         const char* name, const char* what,
                                                         const char* example,
                                                         OutputForm output = OutputForm::yaml) {
    auto options = std::make_shared<Options>();
    return {command(
                name, what, example, [body, options] { return body(*options); }, output),
            options};
  }
  /// Names of the commands that have an option.
  std::vector<std::string> commands_with(const std::string& option) const;
  /// Whether `--verbose` was given, once parsed.
  bool verbose() const { return verbose_; }
  /// `--presets`, which every command that reads presets takes.
  static void presets(CLI::App* sub, PresetOptions& options);
  /// `--jobs`, of commands that run several forecasts.
  static void jobs(CLI::App* sub, std::string& number);
  /// `--json`.
  static void json(CLI::App* sub, std::string& file);
  /// An option or argument, `--cluster CLUSTER`, that is the file of a preset, or its name:
  /// `dgx-h100` for `clusters/dgx-h100.yaml`, where `kind` is `clusters`. A file of that name comes
  /// first.
  static CLI::Option* preset(CLI::App* sub, const char* names, std::string& file, const char* kind,
                             const char* what);
  /// `--set`.
  static void overrides(CLI::App* sub, std::vector<std::string>& list);
  /// `--engine`, which is one more override.
  static void engine(CLI::App* sub, std::vector<std::string>& list);
  /// `--cluster`, `--model` and `--framework`, which put another preset into `list` as `--set`
  /// does.
  static void presets_of(CLI::App* sub, std::vector<std::string>& list,
                         PresetCount count = PresetCount::one);
  /// `--model` and `--framework` alone, beside `launch`, whose `--cluster` serves scenarios, too.
  static void model_preset(CLI::App* sub, std::vector<std::string>& list,
                           PresetCount count = PresetCount::one);
  /// `--from`, `--devices`, `--cluster`, `--ignore-unknown`.
  static void launch(CLI::App* sub, LaunchOptions& options);
  /// The same for commands that have --cluster, and those that have --devices, too.
  static void launch_size(CLI::App* sub, LaunchOptions& options);
  static void launch_kind(CLI::App* sub, LaunchOptions& options);

 private:
  void check_options() const;

  std::unique_ptr<CLI::App> app_;
  std::function<Outcome()> chosen_;
  std::set<const CLI::App*> any_form_;  ///< commands with an --output of any form
  bool verbose_ = false, quiet_ = false;
};

void add_scenario_commands(CommandLine& line);
void add_import_commands(CommandLine& line);
void add_export_commands(CommandLine& line);
void add_edit_commands(CommandLine& line);
void add_judge_commands(CommandLine& line);
void add_explain_commands(CommandLine& line);
void add_campaign_commands(CommandLine& line);
void add_sweep_commands(CommandLine& line);
void add_look_up_commands(CommandLine& line);
void add_operator_commands(CommandLine& line);
void add_plan_commands(CommandLine& line);
void add_accuracy_commands(CommandLine& line);
void add_worker_commands(CommandLine& line);
void add_choices_commands(CommandLine& line);
void add_serve_commands(CommandLine& line);

}  // namespace stepcast::cli
