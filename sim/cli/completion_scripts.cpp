#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast::cli {
namespace {

/// What follows an option, or stands at a place.
struct Argument {
  enum class Takes { nothing, anything, file, folder, words } takes = Takes::anything;
  std::string words = {};  ///< of a closed set, by spaces
};

constexpr std::array<std::string_view, 12> file_types{{"FILE", "SCENARIO", "SWEEP", "STORE", "PATH",
                                                       "A", "B", "A B C", "CLUSTER", "MODEL",
                                                       "PLAN", "OUT"}};
constexpr std::array<std::string_view, 2> folder_types{{"DIR", "PROFILE_DIR"}};

template <class Rows>
std::string names_of(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) text += (text.empty() ? "" : " ") + std::string(row.name);
  return text;
}

std::string collective_names() {
  std::string text;
  for (std::size_t i = 0; i < collective_kinds; ++i)
    text += (i == 0 ? "" : " ") + std::string(name(static_cast<CollectiveKind>(i)));
  return text;
}

/// The words of a closed set; empty where a value is anything.
std::string words_of(const std::string& command, const std::string& option) {
  if (command == "schedule" && option == "schedule") return names_of(pipeline_schedules());
  if (command == "collective" && option == "kind") return collective_names();
  if (command == "collective" && option == "--algorithm")
    return "auto " + names_of(collective_algorithms());
  if (command == "schema" && option == "kind") return names_of(file_kinds());
  if (command == "list" && option == "words")
    return "clusters models frameworks scenarios what-if plans";
  if (command == "completion" && option == "shell") return "bash zsh fish";
  return {};
}

/// `SHELL:{bash}` -> `SHELL`
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

Argument argument_of(const std::string& command, const CLI::Option& option) {
  using Takes = Argument::Takes;
  if (!option.get_positional() && option.get_items_expected_max() == 0) return {Takes::nothing};
  const std::string words = words_of(
      command, option.get_positional() ? option.get_name() : "--" + option.get_lnames().front());
  if (!words.empty()) return {Takes::words, words};
  const std::string type = type_of(option);
  if (std::ranges::find(file_types, type) != file_types.end()) return {Takes::file};
  if (std::ranges::find(folder_types, type) != folder_types.end()) return {Takes::folder};
  return {};
}

/// With a backslash before each of the characters.
std::string escaped(const std::string& text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A word in single quotes of a shell without escapes inside them.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Commands in the order of the help.
std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

std::string zsh_action(const Argument& argument) {
  switch (argument.takes) {
    case Argument::Takes::nothing:
      return "";
    case Argument::Takes::anything:
      return " ";
    case Argument::Takes::file:
      return "_files";
    case Argument::Takes::folder:
      return "_files -/";
    case Argument::Takes::words:
      return "(" + argument.words + ")";
  }
  return "";
}

/// One specification of zsh's _arguments.
std::string zsh_specification(const std::string& command, const CLI::Option& option) {
  const Argument argument = argument_of(command, option);
  const std::string what = escaped(option.get_description(), "[]:\\");
  const std::string action = zsh_action(argument);
  const std::string type = escaped(type_of(option), ":\\");
  const bool many = option.get_items_expected_max() > 1;
  if (option.get_positional())
    return quoted(fmt::format("{}:{}:{}", many ? "*" : "", type, action));
  const std::string value =
      argument.takes == Argument::Takes::nothing ? "" : ":" + type + ":" + action;
  return quoted(
      fmt::format("{}--{}[{}]{}", many ? "*" : "", option.get_lnames().front(), what, value));
}

std::string fish_line(const std::string& command, const CLI::Option& option) {
  using Takes = Argument::Takes;
  const Argument argument = argument_of(command, option);
  std::string line =
      fmt::format("complete -c stepcast -n '__fish_seen_subcommand_from {}'", command);
  if (!option.get_positional()) {
    // Positional arguments have no name that could be completed.
    line += " -l " + option.get_lnames().front();
    for (const std::string& letter : option.get_snames()) line += " -s " + letter;
    line += " -d '" + escaped(option.get_description(), "'\\") + "'";
    if (argument.takes != Takes::nothing) line += " -r";
  }
  if (argument.takes == Takes::file) line += " -F";
  if (argument.takes == Takes::folder) line += " -a '(__fish_complete_directories)'";
  if (argument.takes == Takes::words) line += " -a '" + argument.words + "'";
  return line + "\n";
}

}  // namespace

std::string zsh_completion(const CLI::App& program) {
  std::string commands, cases;
  // From the program's own description of its commands, so that no second list has to be kept up.
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = command->get_name();
    commands += "    " + quoted(name + ":" + escaped(command->get_description(), ":\\")) + "\n";
    cases += "    " + name + ") _arguments";
    for (const CLI::Option* option : command->get_options())
      cases += " \\\n      " + zsh_specification(name, *option);
    cases += " ;;\n";
  }
  return "#compdef stepcast\n# zsh completion for stepcast: `stepcast completion zsh > _stepcast` "
         "in a folder of $fpath\n\n_stepcast() {\n  local context state line\n  local -a "
         "commands=(\n" +
         commands +
         "  )\n  _arguments -C '--help[print the help]' '--version[print the version]' "
         "'1:command:->command' '*::argument:->argument'\n  if [[ $state == command ]]; then\n    "
         "_describe command commands\n    return\n  fi\n  case $words[1] in\n" +
         cases + "  esac\n}\n\n_stepcast \"$@\"\n";
}

std::string fish_completion(const CLI::App& program) {
  std::string names, lines;
  for (const CLI::App* command : commands_of(program)) {
    const std::string& name = command->get_name();
    names += " " + name;
    lines += fmt::format(
        "complete -c stepcast -n \"not __fish_seen_subcommand_from $commands\" -a {} -d '{}'\n",
        name, escaped(command->get_description(), "'\\"));
    for (const CLI::Option* option : command->get_options()) lines += fish_line(name, *option);
  }
  return "# fish completion for stepcast: `stepcast completion fish > "
         "~/.config/fish/completions/stepcast.fish`\nset -l commands" +
         names +
         "\ncomplete -c stepcast -f\ncomplete -c stepcast -l version -d 'print the version'\n" +
         lines;
}

}  // namespace stepcast::cli
