#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/scenario/resolved_scenario.hpp"

namespace stepcast::cli {
namespace {

struct ChoicesOptions : PresetOptions {
  std::string scenario;
  LaunchOptions launch;
  std::vector<std::string> keys;       ///< `path.to.key=value,value`
  std::vector<std::string> overrides;  ///< --set
  std::string json;                    ///< as for run
};

using Json = nlohmann::ordered_json;

constexpr std::size_t most_values = 1000;

struct Choice {
  std::string value, reason;  ///< without a reason it may run
};
struct Key {
  std::string path, now;  ///< now: what the scenario has, empty where that is nothing
  std::vector<Choice> choices;
};

Key key_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    bad_option("keys", "is '" + text + "', allowed: path.to.key=value,value");
  Key key{text.substr(0, equals), "", {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    key.choices.push_back({text.substr(begin, comma - begin), ""});
    begin = comma + 1;
  }
  return key;
}

/// The first thing that is wrong with one value, all other keys as they are.
std::string reason_of(const ScenarioDocument& base, const std::string& path,
                      const std::string& value, const SearchPath& search) {
  try {
    ScenarioDocument tried = base;
    apply_override(tried.root, path + "=" + value, search);
    prepare_scenario(tried, search);
    return "";
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    return first.path.empty() ? first.message : first.path + ": " + first.message;
  }
}

/// The values of a scenario that reads, every default written out; else of the file alone.
Node values_now(const ScenarioDocument& base, const SearchPath& search) {
  try {
    return parse_document(resolved_yaml(prepare_scenario(base, search)), "resolved");
  } catch (const InputError&) {
    return base.root;
  }
}

std::string as_json(const std::vector<Key>& keys) {
  Json list = Json::array();
  for (const Key& key : keys) {
    Json values = Json::array();
    for (const Choice& choice : key.choices)
      values.push_back(
          {{"value", choice.value}, {"runs", choice.reason.empty()}, {"reason", choice.reason}});
    list.push_back({{"path", key.path}, {"now", key.now}, {"values", values}});
  }
  return Json{{"keys", list}}.dump(2) + "\n";
}

std::string as_text(const std::vector<Key>& keys) {
  std::string text;
  for (const Key& key : keys) {
    text += fmt::format("{} (now {})\n", key.path, key.now.empty() ? "not given" : key.now);
    for (const Choice& choice : key.choices)
      text += fmt::format("  {:<12} {}\n", choice.value,
                          choice.reason.empty() ? "may run" : choice.reason);
  }
  return text;
}

Outcome choices(const ChoicesOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  const ScenarioDocument base = load_any_scenario(
      options.scenario,
      launch_overrides(options.scenario, options.overrides, options.launch, search), search);
  // With what the framework and presets say, so that the value of now is the one that a run would
  // take.
  const Node now = values_now(base, search);
  std::vector<Key> keys;
  std::size_t values = 0;
  for (const std::string& text : options.keys) {
    keys.push_back(key_of(text));
    values += keys.back().choices.size();
  }
  if (values > most_values)
    bad_option("keys", fmt::format("have {} values, allowed: {}", values, most_values));
  for (Key& key : keys) {
    const Node* node = node_at(now, key.path);
    // A number may stand with its source.
    if (node != nullptr && node->kind == Node::Kind::mapping) node = node->find("value");
    if (node != nullptr && node->kind == Node::Kind::scalar) key.now = node->text;
    for (Choice& choice : key.choices)
      choice.reason = reason_of(base, key.path, choice.value, search);
  }
  return shown(as_text(keys), options.json, options.json.empty() ? "" : as_json(keys));
}

}  // namespace

void add_choices_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      choices, "choices", "which of some values may run, one by one, and why the others may not",
      "stepcast choices telechat3-36b-2048.yaml parallel.tp=4,8,16 --set "
      "parallel.dp=auto");
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  required(sub, "keys K=V,V", options->keys, "path.to.key=value,value");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_size(sub, options->launch);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
