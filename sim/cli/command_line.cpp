#include "command_line.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "commands.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/version.hpp"

namespace stepcast::cli {
namespace {

/// The commands that have an option; empty: none.
std::string with_option(const std::string& option) {
  return joined(CommandLine{""}.commands_with(option));
}

/// What was meant by words that are no arguments of the command. With `missing` it lacks some,
/// perhaps because of them.
std::string unexpected_hint(const CLI::App& app, bool missing) {
  if (app.get_subcommands().empty()) return {};
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_subcommands().front()->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const bool sets = std::ranges::find(names, "--set") != names.end();
  const std::string command = app.get_subcommands().front()->get_name();
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("-")) {
      if (missing && (word.ends_with(".yaml") || is_there(word)))
        return fmt::format("{}: is before the command, allowed: stepcast {} {}\n", word, command,
                           word);
      if (command == "serve")
        return word +
               ": serve takes no file; its page finds a scenario by its name or takes its text\n";
      continue;
    }
    if (std::ranges::find(names, word) != names.end())
      return word + ": is before the command, allowed: behind it\n";
    if (word == "--set") return "--set: is no option of this command; write the keys in the file\n";
    std::vector<std::string> meant = called_elsewhere(word, names);
    // `--tp 4`: a key is no option. Those of `operator` are a cluster's.
    if (sets && command != "operator")
      for (const std::string& key : keys_called(word)) meant.push_back("--set " + key + "=VALUE");
    std::string hint;
    for (const std::string& one : meant) hint += (hint.empty() ? "; did you mean " : " or ") + one;
    // `--device` of a command with --devices.
    const std::string plural = word + "s";
    if (hint.empty() && std::ranges::find(names, plural) != names.end())
      hint = "; did you mean " + plural;
    if (!hint.empty())
      hint += "?";
    else if (command == "list")
      hint = "; did you mean stepcast list " + word.substr(word.find_first_not_of('-')) + "?";
    else if (const std::string others = with_option(word); !others.empty())
      hint = ", but of stepcast " + others;
    else
      hint = did_you_mean(word, names);
    return hint.empty() ? hint : fmt::format("{}: is no option of this command{}\n", word, hint);
  }
  if (!sets || missing) return "";
  return "A value with blanks is quoted, and each key has a --set of its own: --set a.b=1 --set "
         "c.d=2\n";
}

/// What a command line that was not understood, or `--help`, is answered with.
Outcome parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  if (app.get_subcommands().empty() && !rest.empty()) {
    std::vector<std::string> names{"--version", "--help"};
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    names.emplace_back("help");
    std::string near = did_you_mean(rest.front(), names);
    // `stepcast report my.yaml`: what an option writes.
    const std::string others = with_option("--" + rest.front());
    if (!others.empty() && called_elsewhere(rest.front(), names).empty())
      near = "; it is the option --" + rest.front() + " of stepcast " + others;
    if (const std::string& file = rest.front(); file.ends_with(".yaml") || is_there(file))
      near = "; did you mean stepcast run " + file + "?";
    return {"", bad_input,
            rest.front() + ": is no command or option" +
                (near.empty() ? ", see stepcast --help" : near) + "\n"};
  }
  std::ostringstream out, complaint;
  const int code = app.exit(error, out, complaint) == 0 ? done : bad_input;
  const bool unexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool missing = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  std::string text = unexpected || missing ? unexpected_hint(app, missing) : std::string();
  text += complaint.str();
  // What is given without a name does not say which option is meant: an example does.
  const std::vector<std::string> words = app.remaining(true);
  const bool bare =
      std::ranges::any_of(words, [](const std::string& word) { return !word.starts_with("-"); });
  if ((missing || (unexpected && bare)) && !app.get_subcommands().empty())
    text += app.get_subcommands().front()->get_footer() + "\n";
  return {out.str(), code, text};
}

int print(const Outcome& outcome) {
  for (const std::string& warning : outcome.warnings) spdlog::warn(warning);
  std::cout << outcome.text << std::flush;
  std::cerr << outcome.complaint;
  if (std::cout) return outcome.exit_code;
  std::cerr << "stdout: cannot be written\n";
  return bad_input;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// With --verbose a line for each phase when it ends.
class PhaseLog {
 public:
  void end() {
    if (!name_.empty()) spdlog::debug("{} took {:.3f} s{}", name_, seconds_since(begin_), result_);
    name_.clear();
    result_.clear();
  }

 private:
  void begin(std::string_view name) {
    end();
    name_ = name;
    begin_ = std::chrono::steady_clock::now();
  }

  std::string name_, result_;
  std::chrono::steady_clock::time_point begin_;
  PhaseWatch watch_{[this](std::string_view name) { begin(name); },
                    [this](const std::string& text) { result_ = ": " + text; }};
};

/// A function that adds some commands, and their names with a blank on both sides.
struct CommandFamily {
  void (*add)(CommandLine&);
  std::string_view names;
};

// In the order of --help. `completion` is none of them: it needs the options of all.
constexpr std::array<CommandFamily, 15> families{{
    {add_scenario_commands, " run validate schema "},
    {add_import_commands, " import "},
    {add_export_commands, " export "},
    {add_edit_commands, " edit "},
    {add_explain_commands, " explain "},
    {add_judge_commands, " judge "},
    {add_campaign_commands, " campaign "},
    {add_sweep_commands, " sweep results scale check diff compare "},
    {add_look_up_commands, " topology collective model keys new schedule list "},
    {add_operator_commands, " operator "},
    {add_plan_commands, " plan "},
    {add_accuracy_commands, " accuracy calibrate "},
    {add_worker_commands, " worker "},
    {add_choices_commands, " choices "},
    {add_serve_commands, " serve "},
}};

}  // namespace

CommandLine::CommandLine(std::string_view first)
    : app_{std::make_unique<CLI::App>(
          "stepcast predicts the time of one LLM training step on a cluster, before anyone books "
          "it.")} {
  app_->set_version_flag("--version", std::string("stepcast ") + version);
  app_->require_subcommand(1);
  app_->add_flag("-v,--verbose", verbose_, "log what is done to stderr");
  app_->add_flag("-q,--quiet", quiet_, "log errors only");
  app_->fallthrough();
  app_->footer("Start with: stepcast run telechat3-36b-2048.yaml");
  if (first == "--version") return;
  const std::string word = " " + std::string(first) + " ";
  const auto has = [&](const CommandFamily& family) {
    return family.names.find(word) != std::string_view::npos;
  };
  const bool known = std::ranges::any_of(families, has);
  for (const CommandFamily& family : families)
    if (!known || has(family)) family.add(*this);
}

CommandLine::~CommandLine() = default;

int CommandLine::main(int argc, char** argv) {
  // `stepcast help plan` is `stepcast plan --help`.
  static char help[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help);
  }
  try {
    app_->parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    return print(parse_failure(*app_, error));
  }
  spdlog::set_default_logger(spdlog::stderr_color_st("stepcast"));
  spdlog::set_pattern("%^%l%$: %v");
  spdlog::set_level(quiet_     ? spdlog::level::err
                    : verbose_ ? spdlog::level::debug
                               : spdlog::level::warn);
  check_options();
  const auto begin = std::chrono::steady_clock::now();
  PhaseLog log;
  const WorkProgress progress(quiet_);
  end_cleanly();
  const Outcome outcome = chosen_();
  log.end();
  spdlog::debug("{} took {:.3f} s", app_->get_subcommands().front()->get_name(),
                seconds_since(begin));
  return print(outcome);
}

Outcome CommandLine::answer(const std::vector<std::string>& arguments) {
  try {
    // CLI11 takes them from the back.
    app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return parse_failure(*app_, error);
  }
  check_options();
  return chosen_();
}

std::vector<std::string> CommandLine::commands_with(const std::string& option) const {
  std::vector<std::string> names;
  for (const CLI::App* sub : app_->get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_option_no_throw(option) != nullptr) names.push_back(sub->get_name());
  return names;
}

/// An option whose text is empty would be taken for one that is not there.
void CommandLine::check_options() const {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const CLI::Option* option : app_->get_subcommands().front()->get_options()) {
    if (option->get_positional()) continue;
    for (const std::string& given : option->results()) {
      if (given.empty()) bad_option(option->get_name(), "is empty, give a value");
      texts.emplace_back("--" + option->get_lnames().front(), given);
    }
  }
  const bool any = any_form_.contains(app_->get_subcommands().front());
  check_outputs(any ? OutputForm::any : OutputForm::yaml, texts);
}

CLI::App* CommandLine::command(const char* name, const char* what, const char* example,
                               std::function<Outcome()> body, OutputForm output) {
  CLI::App* sub = app_->add_subcommand(name, what);
  if (output == OutputForm::any) any_form_.insert(sub);
  sub->footer(std::string("Example: ") + example);
  sub->callback([this, body = std::move(body)] { chosen_ = body; });
  return sub;
}

void CommandLine::presets(CLI::App* sub, PresetOptions& options) {
  repeated(sub, "--presets DIR", options.presets, "folder to look for presets in (repeatable)");
}

void CommandLine::jobs(CLI::App* sub, std::string& number) {
  option(sub, "-j,--jobs N", number, "processes at a time, default one per processor");
}

void CommandLine::json(CLI::App* sub, std::string& file) {
  option(sub, "--json FILE", file, "write the result as JSON, - for stdout instead of the table");
}

void CommandLine::overrides(CLI::App* sub, std::vector<std::string>& list) {
  repeated(sub, "--set K=V", list, "override a key, path.to.key=value (repeatable)");
}

void CommandLine::engine(CLI::App* sub, std::vector<std::string>& list) {
  sub->add_option_function<std::string>(
         "--engine",
         [&list](const std::string& word) { list.push_back("simulate.engine=" + word); },
         "fast (the default), or simgrid: SimGrid alone, link by link")
      ->type_name("ENGINE");
}

CLI::Option* CommandLine::preset(CLI::App* sub, const char* names, std::string& file,
                                 const char* kind, const char* what) {
  return option(sub, names, file, what)->transform([kind](std::string name) {
    const std::filesystem::path path{name};
    // `llama3.1-8b` has a dot, and no ending.
    const bool ending =
        name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
    const bool short_name = !name.empty() && !path.has_parent_path() && !ending;
    if (!short_name || is_there(path)) return name;
    return kind + ("/" + name + ".yaml");
  });
}

namespace {

/// A config.json of Hugging Face is no preset: it has a key of its own, where there is one.
void add_preset(CLI::App* sub, const char* option, const char* key, const std::string& what,
                std::vector<std::string>& list, PresetCount count, const char* json_key = nullptr) {
  const bool several = count == PresetCount::several;
  const std::string note = several ? " (repeatable)" : "";
  CLI::Option* added = sub->add_option_function<std::vector<std::string>>(
      option,
      [key, json_key, &list](const std::vector<std::string>& presets) {
        for (const std::string& preset : presets)
          list.push_back((json_key && preset.ends_with(".json") ? json_key : key) + ("=" + preset));
      },
      what + ": its file, or the name of a preset" +
          (json_key ? ", or a config.json of Hugging Face" : "") + note);
  added->type_name("PRESET")->allow_extra_args(false);
  if (!several) added->expected(1);
}

}  // namespace

void CommandLine::model_preset(CLI::App* sub, std::vector<std::string>& list, PresetCount count) {
  const bool several = count == PresetCount::several;
  add_preset(sub, "--model", "model.extends",
             several ? "one more side: A with another model" : "another model", list, count,
             "model.hf_config");
  add_preset(sub, "--framework", "framework",
             several ? "one more side: A run by another framework" : "another framework, or none",
             list, count);
}

void CommandLine::presets_of(CLI::App* sub, std::vector<std::string>& list, PresetCount count) {
  const bool several = count == PresetCount::several;
  add_preset(sub, "--cluster", "cluster.extends",
             several ? "one more side: A on another cluster" : "another cluster", list, count);
  model_preset(sub, list, count);
}

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

}  // namespace stepcast::cli
