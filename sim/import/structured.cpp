#include "structured.hpp"

#include <toml++/toml.h>

#include "stepcast/base/text.hpp"
#include "unknown_names.hpp"

namespace stepcast::launch {
namespace {

std::string list_text(const Node& list) {
  std::string text = "[";
  for (const Node& item : list.items)
    text += (text.size() > 1 ? ", " : "") +
            (item.kind == Node::Kind::list ? list_text(item) : item.text);
  return text + "]";
}

void flatten(const Node& node, const std::string& path, const Place& place,
             std::vector<Setting>& all) {
  switch (node.kind) {
    // A key without a value is as if it were not there.
    case Node::Kind::null:
      return;
    case Node::Kind::scalar:
      all.push_back({path, {node.text}, place, false});
      return;
    case Node::Kind::list: {
      Setting setting{path, {}, place, true};
      for (const Node& item : node.items) {
        if (item.kind == Node::Kind::mapping) return;  // callbacks and the like
        setting.words.push_back(item.kind == Node::Kind::list ? list_text(item) : item.text);
      }
      all.push_back(std::move(setting));
      return;
    }
    case Node::Kind::mapping:
      for (const Node::Entry& entry : node.entries)
        flatten(entry.value, path_below(path, entry.key), entry.place, all);
  }
}

/// As deep as YAML files may be.
constexpr int deepest_toml = 64;

Node node_of(const toml::node& value, const std::string& name, int depth) {
  const auto& begin = value.source().begin;
  Node node{.place = {name, static_cast<int>(begin.line), static_cast<int>(begin.column)}};
  if (depth > deepest_toml)
    refuse_input(node.place, {}, "is nested too deeply, allowed: 64 levels");
  if (const toml::table* table = value.as_table()) {
    node.kind = Node::Kind::mapping;
    // Places of keys and values are kept, for errors in the user's own words.
    for (const auto& [key, inner] : *table) {
      const auto& at = key.source().begin;
      node.entries.push_back({std::string(key.str()),
                              {name, static_cast<int>(at.line), static_cast<int>(at.column)},
                              node_of(inner, name, depth + 1)});
    }
  } else if (const toml::array* list = value.as_array()) {
    node.kind = Node::Kind::list;
    for (const toml::node& inner : *list) node.items.push_back(node_of(inner, name, depth + 1));
  } else {
    node.kind = Node::Kind::scalar;
    if (const auto* text = value.as_string()) {
      node.text = text->get();
      node.quoted = true;
    } else if (const auto* flag = value.as_boolean()) {
      node.text = flag->get() ? "true" : "false";
    } else {
      // Numbers and dates become text, as YAML's scalars are: the reader of keys decides what they
      // are.
      std::ostringstream written;
      value.visit([&written](const auto& v) {
        if constexpr (toml::is_value<decltype(v)>) written << v.get();
      });
      node.text = written.str();
    }
  }
  return node;
}

}  // namespace

std::vector<Setting> flattened(const Node& root) {
  std::vector<Setting> all;
  flatten(root, {}, root.place, all);
  return all;
}

Node parse_toml(const std::string& text, const std::string& name) {
  try {
    const toml::table table = toml::parse(text, name);
    return node_of(table, name, 0);
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    refuse_input({name, static_cast<int>(begin.line), static_cast<int>(begin.column)}, {},
                 "is not TOML: " + std::string(error.description()));
  }
}

std::vector<Setting> checked_settings(Framework framework, const Node& root,
                                      const ImportOptions& options, Draft& draft) {
  return checked(framework, flattened(root), options, draft);
}

std::vector<Setting> checked(Framework framework, std::vector<Setting> settings,
                             const ImportOptions& options, Draft& draft) {
  refuse_other_steps(framework, settings);
  check_settings(framework, settings, options.ignore_unknown, draft);
  // What is ignored, or set to nothing, says nothing of the job.
  std::erase_if(settings, [&](const Setting& setting) {
    const auto flag = find_flag(framework, setting.name);
    return !flag || flag->treatment == Treatment::ignored || setting.words.empty() ||
           setting.words.front() == "null" || setting.words.front() == "None";
  });
  return settings;
}

std::int64_t llama_width(std::int64_t hidden, double factor, std::int64_t multiple) {
  // As Llama's code has it: two thirds of four times the hidden width, rounded up to the multiple.
  auto width = 8 * hidden / 3;
  width = static_cast<std::int64_t>(factor * static_cast<double>(width));
  return multiple < 1 ? width : (width + multiple - 1) / multiple * multiple;
}

}  // namespace stepcast::launch
