#include <algorithm>
#include <functional>
#include <sstream>

#include "read_draft.hpp"
#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/whole_visitor.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

constexpr std::string_view extends = ".extends";

bool names_missing_preset(const Diagnostic& d) {
  return ("." + d.path).ends_with(extends) && d.message.starts_with("names '");
}

/// The mapping that a preset was to fill, with a dot behind it; empty for the whole file.
std::string mapping_of(const Diagnostic& d) {
  return d.path.substr(0, d.path.size() + 1 - extends.size());
}

/// The paths of all keys of a scenario that have one name.
class PathsOfKey : public WholeVisitor {
 public:
  PathsOfKey(std::string_view name, std::string prefix, std::vector<std::string>& found)
      : name_{name}, prefix_{std::move(prefix)}, found_{found} {}

  void field(const Field& field) override { meet(field.key); }
  void section(std::string_view key, std::string_view, const Body& body) override {
    meet(key);
    PathsOfKey inner{name_, prefix_ + std::string(key) + ".", found_};
    body(inner);
  }
  void alternatives(std::string_view key, std::string_view, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    meet(key);
    one_of(current, bodies);
  }
  void list(std::string_view key, std::string_view, std::size_t, const Resize&,
            const Entry&) override {
    meet(key);
  }

 private:
  void meet(std::string_view key) {
    std::string path = prefix_ + std::string(key);
    if (key == name_ && std::ranges::count(found_, path) == 0) found_.push_back(std::move(path));
  }

  std::string_view name_;
  std::string prefix_;
  std::vector<std::string>& found_;
};

/// Adds the paths of all keys of a scenario that have this name.
void add_paths(std::string_view name, std::vector<std::string>& found) {
  ScenarioDraft draft;
  PathsOfKey paths{name, {}, found};
  describe(paths, draft);
}

/// `model: llama3-8b` was meant as a preset.
void suggest_preset(Diagnostic& d) {
  constexpr std::string_view begin = "is '", end = "', allowed: a mapping";
  const std::size_t at = d.message.find(end);
  if (!d.message.starts_with(begin) || at == std::string::npos) return;
  std::string file = d.message.substr(begin.size(), at - begin.size());
  if (!file.ends_with(".yaml")) file = d.path + "s/" + file + ".yaml";
  d.message.resize(at + end.size());
  d.message += " such as {extends: " + file + "}";
}

/// A word where a mapping is wanted, that one key in it takes: `schedule: 1f1b`.
void suggest_inner(Diagnostic& d) {
  constexpr std::string_view begin = "is '", middle = "', allowed: a mapping of ";
  const std::size_t at = d.message.find(middle);
  if (!d.message.starts_with(begin) || at == std::string::npos) return;
  if (d.path == "cluster.device") {
    d.message += "; a device comes with its cluster, --cluster NAME";
    return;
  }
  const Node word{.kind = Node::Kind::scalar,
                  .text = d.message.substr(begin.size(), at - begin.size())};
  if (parse_number(word.text) || word.text == "true" || word.text == "false") return;
  std::vector<std::string> takers;
  std::istringstream keys{d.message.substr(at + middle.size())};
  for (std::string key; keys >> key;) {
    if (key.ends_with(',')) key.pop_back();
    const std::string path = d.path + "." + key;
    if (wrong_assignment(describe_scenario_file, path, word).empty()) takers.push_back(path);
  }
  if (takers.size() == 1) d.message += "; did you mean " + takers.front() + "?";
}

/// A number where a word is wanted, that another key of the name takes: `moe.experts: 8`.
void suggest_namesake(Diagnostic& d) {
  constexpr std::string_view begin = "is '", middle = "', allowed: ";
  const std::size_t at = d.message.find(middle);
  if (!d.message.starts_with(begin) || at == std::string::npos) return;
  const Node value{.kind = Node::Kind::scalar,
                   .text = d.message.substr(begin.size(), at - begin.size())};
  if (!parse_number(value.text) || d.message.find("number", at) != std::string::npos) return;
  std::vector<std::string> found;
  add_paths(std::string_view(d.path).substr(d.path.rfind('.') + 1), found);
  std::erase_if(found, [&](const std::string& path) {
    return path == d.path || !wrong_assignment(describe_scenario_file, path, value).empty();
  });
  if (found.size() == 1) d.message += "; did you mean " + found.front() + "?";
}

/// Of many paths those with the fewest keys: `devices` means `cluster.devices`.
void keep_shallowest(std::vector<std::string>& paths) {
  const auto depth = [](const std::string& path) { return std::ranges::count(path, '.'); };
  const auto least = depth(*std::ranges::min_element(paths, {}, depth));
  std::erase_if(paths, [&](const std::string& path) { return depth(path) > least; });
}

/// A path with its dots and dashes as one underscore each: `parallel__tp`, `parallel-tp`.
std::string flat(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const bool joint = c == '.' || c == '-' || c == '_';
    if (!joint || !text.ends_with('_')) text += joint ? '_' : c;
  }
  return text;
}

/// `parallel_tp` was meant as a path.
void suggest_dots(Diagnostic& d) {
  if (!d.message.starts_with("is not a known key") || d.path.find('.') != std::string::npos) return;
  const std::string all = flat(d.path);
  for (std::size_t at = all.find('_'); at != std::string::npos; at = all.find('_', at + 1)) {
    std::vector<std::string> found;
    add_paths(std::string_view(all).substr(at + 1), found);
    for (const std::string& path : found)
      if (flat(path) == all) d.message = "is not a known key; did you mean " + path + "?";
  }
}

/// A part of a part of another section: its size is none of a model.
bool is_deep(const std::string& path) { return std::ranges::count(path, '.') > 2; }

auto starts_with(const std::string& head) {
  return [head](const std::string& path) { return path.starts_with(head); };
}

}  // namespace

void suggest_paths(Reading& reading) {
  constexpr std::size_t most = 3;
  constexpr std::string_view unknown = "is not a known key, allowed: ";
  for (Diagnostic& d : reading.diagnostics) {
    if (d.path == "cluster" || d.path == "model") suggest_preset(d);
    suggest_inner(d);
    suggest_namesake(d);
    suggest_dots(d);
    if (!d.message.starts_with(unknown)) continue;
    std::vector<std::string> found;
    const std::string name = d.path.substr(d.path.rfind('.') + 1);
    add_paths(name, found);
    // `parallel.world_size`: what others call it.
    if (found.empty())
      for (const std::string& meant : names_of(name)) add_paths(meant, found);
    std::erase(found, d.path);  // one that another word of its mapping allows
    // `model.experts` means `model.moe.experts` before `moe.experts`.
    const std::string head = d.path.substr(0, d.path.find('.') + 1);
    if (!head.empty() && std::ranges::any_of(found, starts_with(head)))
      std::erase_if(found, std::not_fn(starts_with(head)));
    else if (!head.empty())
      std::erase_if(found, is_deep);
    if (found.size() > most) keep_shallowest(found);
    // Sizes of models and kinds of clusters are names of presets.
    if (found.empty() && (d.path == "model." + name || d.path == "cluster." + name)) {
      const std::string kind = d.path.substr(0, head.size() - 1);
      d.message.append("; another ").append(kind).append(" is --").append(kind);
      d.message.append(" NAME or extends: NAME, see stepcast list ").append(kind).append("s");
    }
    if (found.empty() || found.size() > most) continue;
    d.message += "; did you mean " + joined(found) + "?";
  }
}

std::string name_of_file(const std::string& path) {
  // Names go into files, hashes and URLs: lower-case letters, digits and three signs.
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!allowed) c = '-';
  }
  return name.find_first_not_of("-.") == std::string::npos ? "scenario" : name;
}

std::filesystem::path directory_of(const Place& place) {
  return place.file.starts_with("--set ") ? std::filesystem::path{}
                                          : std::filesystem::path(place.file).parent_path();
}

bool note_missing_presets(const std::vector<Diagnostic>& wrong, Reading& reading) {
  for (const Diagnostic& d : wrong)
    if (names_missing_preset(d)) {
      const std::string mapping = mapping_of(d);
      reading.failed.insert(mapping.substr(0, mapping.size() - (mapping.empty() ? 0 : 1)));
    }
  return std::ranges::all_of(wrong, names_missing_preset);
}

void drop_consequences(Reading& reading) {
  // A preset that was not found leaves its mapping empty. What it would have said is then missing
  // by consequence, and one error says enough.
  std::vector<std::string> mappings;
  for (const Diagnostic& d : reading.diagnostics)
    if (names_missing_preset(d)) mappings.push_back(mapping_of(d));
  if (mappings.empty()) return;
  std::erase_if(reading.diagnostics, [&](const Diagnostic& d) {
    const bool lacks = d.message.starts_with("is missing") || d.message.starts_with("is empty") ||
                       d.message.starts_with("has none of");
    return lacks && std::ranges::any_of(mappings, [&](const std::string& m) {
             return (d.path + ".").starts_with(m);
           });
  });
}

}  // namespace stepcast
