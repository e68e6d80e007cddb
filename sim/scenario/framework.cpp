#include "stepcast/sim/scenario/framework.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "framework_files.hpp"
#include "framework_rules.hpp"
#include "read_draft.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

// More than any chain of versions has, and few enough for the stack.
constexpr std::size_t deepest_framework = 32;

/// A framework as it is written: the mapping of a file, or of a scenario.
struct FrameworkText {
  struct Rule {
    const Node *set = nullptr, *when = nullptr;
    std::string source;
  };
  std::string extends, name, vendor, from, before, version, recipe;
  std::vector<Rule> rules;
  const Node* recipes = nullptr;
};

/// Where a framework is written, which keys it may have.
enum class WrittenIn { file, scenario };

PathMap open_mapping(const Node*& found) {
  return {"framework", [](Visitor&) {}, false, &found, true};
}

void describe_rule(Visitor& v, FrameworkText::Rule& rule) {
  v.paths("set", "keys of a scenario and their values", open_mapping(rule.set));
  v.paths("when",
          "keys that the scenario must have so: a value, a list, {not: [...]}, one, many, some, "
          "none; device.vendor, device.generation, nodes and micro_batches, too",
          open_mapping(rule.when));
  v.field({"source", &rule.source, "where it is read", any_number(), true});
}

void describe_rules(Visitor& visitor, std::vector<FrameworkText::Rule>& rules) {
  visitor.optional_list(
      "rules", "what it sets where a scenario does not say", rules.size(),
      [&](std::size_t n) { rules.resize(n); },
      [&](Visitor& v, std::size_t i) { describe_rule(v, rules[i]); });
}

void describe(Visitor& visitor, FrameworkText& text, WrittenIn where) {
  const bool file = where == WrittenIn::file;
  visitor.field({"extends", &text.extends, "the framework whose rules hold for other keys"});
  visitor.field({"name", &text.name, "name of the framework, without its version"});
  visitor.field({"vendor", &text.vendor,
                 "device.vendor whose devices alone its code runs on; empty: any, or that of what "
                 "it extends"});
  // A file says which versions it is for, a scenario which of them runs.
  if (file)
    visitor.section("versions", "for which it is", [&](Visitor& v) {
      v.field({"from", &text.from, "the first version, as text", any_number(), true});
      v.field({"before", &text.before, "the first one for which it is no more; empty: none yet"});
    });
  if (!file) {
    visitor.field({"version", &text.version, "which version runs, of those that it is for"});
    visitor.field({"recipe", &text.recipe, "whose flags are set; none: those of the code alone"});
  }
  describe_rules(visitor, text.rules);
  visitor.paths("recipes", "flags of published scripts, by name: {models, set, source}",
                open_mapping(text.recipes));
}

void describe_recipe(Visitor& visitor, std::vector<std::string>& models, FrameworkText::Rule& flags,
                     std::vector<FrameworkText::Rule>& rules) {
  visitor.field({"models", &models, "files of the models that it is for"});
  describe_rule(visitor, flags);
  describe_rules(visitor, rules);
}

/// Reads mappings with what they extend.
class FrameworkMappings {
 public:
  FrameworkMappings(const SearchPath& search, Reading& reading)
      : search_{search}, reading_{reading} {}

  /// The framework that `name`, written at `place` below `path`, means.
  std::optional<Framework> named(const std::string& name, const Place& place,
                                 const std::string& path) {
    auto framework = heading(name, place, path);
    if (framework) add_rules(*framework);
    return framework;
  }

  /// The mapping of a scenario.
  std::optional<Framework> in_scenario(const Node& mapping) {
    FrameworkText text;
    read_mapping(mapping, "framework", reading_,
                 [&](Visitor& v) { describe(v, text, WrittenIn::scenario); });
    auto framework = whole(text, mapping);
    if (!framework) return {};
    const bool own = !text.rules.empty() || text.recipes != nullptr;
    if (renamed_ && !own)
      fail(place_of(mapping, "name"), "framework.name",
           "is " + shortened(text.name) + " of a file that is not it, allowed: " + *renamed_ +
               "; another framework is --framework NAME or framework: NAME");
    framework->version = text.version;
    framework->recipe = text.recipe;
    add_rules(*framework);
    check_choices(*framework, mapping);
    return framework;
  }

  /// All files that were read.
  const std::vector<std::string>& files() const { return files_; }

 private:
  /// The framework of a file but for its rules: they are noted, those of what it extends first.
  std::optional<Framework> heading(const std::string& name, const Place& place,
                                   const std::string& path) {
    const auto file = framework_file(name, directory_of(place), search_);
    if (!file) {
      fail(place, path, "names '" + shortened(name) + "', which does not exist" + hint(name));
      return {};
    }
    // The same file by another path is still a cycle.
    const std::string real = real_path(*file);
    if (std::ranges::find(open_, real) != open_.end() || open_.size() >= deepest_framework) {
      fail(
          place, path,
          "extends " + file->string() + ", which is being read: a cycle, allowed: a tree of files");
      return {};
    }
    open_.push_back(real);
    files_.push_back(real);
    auto framework = in_file(*file);
    open_.pop_back();
    return framework;
  }

  std::optional<Framework> in_file(const fs::path& file) {
    std::vector<Diagnostic> repeated;
    const Node& root = documents_.emplace_back(load_document_text(
        read_document_text(file.string(), search_), file.string(), search_, &repeated));
    std::ranges::move(repeated, std::back_inserter(reading_.diagnostics));
    const Node* mapping = root.kind == Node::Kind::mapping ? root.find("framework") : nullptr;
    if (mapping == nullptr) {
      fail(root.place, "framework", "is missing, allowed: a mapping with name, versions and rules");
      return {};
    }
    Section section{root, {}, reading_};
    FrameworkText text;
    describe_format_version(section, true);
    section.section("framework", "", [&](Visitor& v) { describe(v, text, WrittenIn::file); });
    section.finish();
    auto framework = whole(text, *mapping);
    if (!framework) return {};
    framework->id = file.stem().string();
    framework->file = real_path(file);
    if (framework->name.empty())
      fail(mapping->place, "framework.name", "is missing, allowed: the name of the framework");
    if (!text.before.empty() && !is_earlier(text.from, text.before))
      fail(place_of(root, "framework.versions.before"), "framework.versions.before",
           "is " + shortened(text.before) + ", allowed: a version behind " + shortened(text.from));
    framework->from = text.from;
    framework->before = text.before;
    return framework;
  }

  /// A mapping with what it extends.
  std::optional<Framework> whole(const FrameworkText& text, const Node& mapping) {
    Framework framework;
    if (!text.extends.empty()) {
      const Node& extends = *mapping.find("extends");
      // What it extends is read first; its own rules then replace those for the same keys.
      auto base = heading(text.extends, extends.place, "framework.extends");
      if (!base) return {};
      framework = std::move(*base);
    }
    renamed_.reset();
    if (!text.name.empty()) {
      if (!text.extends.empty() && text.name != framework.name) renamed_ = framework.name;
      framework.name = text.name;
    }
    if (!text.vendor.empty()) framework.vendor = text.vendor;
    write_rules(text.rules, "framework.rules.", {}, rules_.emplace_back());
    recipes_.emplace_back();
    if (text.recipes != nullptr)
      for (const Node::Entry& entry : text.recipes->entries)
        recipes_.back().push_back(read_recipe(entry, rules_.back()));
    return framework;
  }

  /// Adds the rules of all files, each over those of the files that it extends.
  void add_rules(Framework& framework) {
    std::vector<std::vector<FrameworkRule>> rules = rules_of(rules_, reading_);
    for (std::size_t file = 0; file < rules.size(); ++file) {
      std::vector<FrameworkRule> own;  // without recipes
      for (FrameworkRule& rule : rules[file]) {
        const auto recipe = std::ranges::find(recipes_[file], rule.recipe, &FrameworkRecipe::name);
        (recipe == recipes_[file].end() ? own : recipe->rules).push_back(std::move(rule));
      }
      report_contradictions(own, "framework.rules", reading_);
      replace_rules(framework.rules, std::move(own));
      for (FrameworkRecipe& recipe : recipes_[file]) {
        report_contradictions(recipe.rules, "framework.recipes." + recipe.name, reading_);
        std::erase_if(framework.recipes,
                      [&](const FrameworkRecipe& other) { return other.name == recipe.name; });
        framework.recipes.push_back(std::move(recipe));
      }
    }
    // A condition on a key that another rule sets, which waits for the first, would never settle.
    report_circles(framework, reading_);
  }

  void write_rules(const std::vector<FrameworkText::Rule>& rules, const std::string& path,
                   const std::string& recipe, std::vector<WrittenRule>& written) {
    for (std::size_t i = 0; i < rules.size(); ++i)
      written.push_back(
          {rules[i].set, rules[i].when, rules[i].source, path + std::to_string(i), recipe});
  }

  FrameworkRecipe read_recipe(const Node::Entry& entry, std::vector<WrittenRule>& written) {
    const std::string path = "framework.recipes." + entry.key;
    FrameworkRecipe recipe{entry.key, {}, {}};
    FrameworkText::Rule flags;
    std::vector<FrameworkText::Rule> rules;
    std::vector<std::string> models;
    read_mapping(entry.value, path, reading_,
                 [&](Visitor& v) { describe_recipe(v, models, flags, rules); });
    // `recipe: none` must stay sayable.
    if (entry.key == "none")
      fail(entry.place, path, "is the word for no recipe, allowed: another name");
    written.push_back({flags.set, flags.when, flags.source, path, recipe.name});
    write_rules(rules, path + ".rules.", recipe.name, written);
    const Node* named = entry.value.find("models");
    for (std::size_t i = 0; i < models.size(); ++i) {
      const Place& place = named->items[i].place;
      const auto file = find_file(models[i], directory_of(place), search_);
      if (file) {
        recipe.models.push_back(real_path(*file));
      } else {
        fail(place, path + ".models",
             "names '" + shortened(models[i]) +
                 "', which does not exist, allowed: paths of model files");
      }
    }
    return recipe;
  }

  void check_choices(const Framework& framework, const Node& mapping) {
    const std::string& version = framework.version;
    // The file knows the versions that it was read from; beyond them its switches may be others.
    const bool early = !version.empty() && is_earlier(version, framework.from);
    const bool late =
        !version.empty() && !framework.before.empty() && !is_earlier(version, framework.before);
    if (early || late)
      fail(place_of(mapping, "version"), "framework.version",
           "is " + shortened(version) + ", allowed: from " + framework.from +
               (framework.before.empty() ? " on" : " to before " + framework.before));
    std::vector<std::string> names;
    for (const FrameworkRecipe& recipe : framework.recipes) names.push_back(recipe.name);
    if (framework.recipe.empty() || framework.recipe == "none" ||
        std::ranges::find(names, framework.recipe) != names.end())
      return;
    const auto near = nearest(framework.recipe, names);
    names.emplace_back("none");
    fail(place_of(mapping, "recipe"), "framework.recipe",
         "is '" + shortened(framework.recipe) + "'" +
             (near ? "; did you mean " + *near + "?" : ", allowed: " + joined(names)));
  }

  /// The newest of each framework whose name begins with `word`.
  static std::vector<std::string> newest_of(const std::vector<std::string>& names,
                                            const std::string& word) {
    std::map<std::string, std::string> versions;
    for (const std::string& name : names) {
      // Names are `framework-version`: names of frameworks may have dashes of their own.
      const std::size_t dash = name.rfind('-');
      if (dash == std::string::npos || !name.starts_with(word)) continue;
      std::string& newest = versions[name.substr(0, dash)];
      const std::string version = name.substr(dash + 1);
      if (newest.empty() || is_earlier(newest, version)) newest = version;
    }
    std::vector<std::string> found;
    found.reserve(versions.size());
    for (const auto& [name, version] : versions)
      found.push_back(std::string(name).append("-").append(version));
    return found;
  }

  /// Of a version that has no file: the newest before it, or else the first. Empty where no
  /// framework of this name is known.
  static std::string nearest_version(const std::vector<std::string>& names,
                                     const std::string& word) {
    const std::size_t dash = word.rfind('-');
    if (dash == std::string::npos) return {};
    const std::string name = word.substr(0, dash + 1), version = word.substr(dash + 1);
    std::string before, first;
    for (const std::string& other : names) {
      if (other.rfind('-') != dash || !other.starts_with(name)) continue;
      const std::string its = other.substr(dash + 1);
      if (first.empty() || is_earlier(its, first)) first = its;
      if (is_earlier(its, version) && (before.empty() || is_earlier(before, its))) before = its;
    }
    if (first.empty()) return {};
    return name + (before.empty() ? first : before);
  }

  std::string hint(const std::string& name) const {
    const std::vector<std::string> names = framework_names(search_);
    // `mindspeed-2.3` ends with a version, not with an ending.
    const fs::path file{name};
    const bool is_file = file.extension() == ".yaml" || file.extension() == ".yml";
    const std::string word = lower_case((is_file ? file.stem() : file.filename()).string());
    const std::vector<std::string> newest = newest_of(names, word);
    if (!newest.empty()) return "; did you mean " + joined(newest) + "?";
    if (const std::string version = nearest_version(names, word); !version.empty())
      return "; did you mean " + version + "?";
    const auto near = nearest(word, names);
    if (near) return "; did you mean " + *near + "?";
    return names.empty() ? ", allowed: the path of a framework file, none"
                         : ", allowed: " + joined(names) + ", a path, none";
  }

  void fail(const Place& place, const std::string& path, const std::string& message) {
    reading_.failed.insert(path);
    reading_.report(place, path, message);
  }

  const SearchPath& search_;
  Reading& reading_;
  std::optional<std::string> renamed_;  ///< what a name was before the mapping gave it another
  std::deque<Node> documents_;          ///< in which rules stand
  std::vector<std::string> open_;       ///< files that are being read, to see cycles
  std::vector<std::string> files_;
  // Of each mapping, those that it extends first:
  std::vector<std::vector<WrittenRule>> rules_;
  std::vector<std::vector<FrameworkRecipe>> recipes_;
};

}  // namespace

std::string Framework::label() const {
  constexpr std::string_view digits = "0123456789";
  const std::size_t dash = id.rfind('-');
  // `mindspeed-2.3` says its version itself; `megatron-core` does not.
  const bool numbered = dash != std::string::npos && dash + 1 < id.size() &&
                        digits.find(id[dash + 1]) != std::string_view::npos;
  const std::string of_file = numbered ? id.substr(dash + 1) : from;
  const std::string& shown = version.empty() ? of_file : version;
  const std::string called = name.empty() ? "of the scenario" : name;
  return shown.empty() ? called : called + " " + shown;
}

void describe_framework_file(Visitor& visitor) {
  FrameworkText text;
  describe_format_version(visitor, true);
  visitor.section("framework", "rules that a training framework brings",
                  [&](Visitor& v) { describe(v, text, WrittenIn::file); });
}

std::optional<Framework> read_named_framework(const std::string& name, const Place& place,
                                              const std::string& path, const SearchPath& search,
                                              Reading& reading, std::vector<std::string>& files) {
  FrameworkMappings mappings{search, reading};
  auto framework = mappings.named(name, place, path);
  files = mappings.files();
  return framework;
}

std::optional<Framework> read_written_framework(const Node& mapping, const SearchPath& search,
                                                Reading& reading) {
  return FrameworkMappings{search, reading}.in_scenario(mapping);
}

}  // namespace stepcast
