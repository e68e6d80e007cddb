#include "run_framework.hpp"

#include <algorithm>
#include <set>

#include "framework_files.hpp"
#include "framework_rules.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/framed_document.hpp"

namespace stepcast {
namespace {

using ChosenRules = std::vector<const FrameworkRule*>;

/// No rule sets a key of these sections.
bool is_kept(const std::string& path) {
  const std::string_view section = std::string_view(path).substr(0, path.find('.'));
  return section == "cluster" || section == "model";
}

/// Whether the document says the key, or says something of the mapping that would hold it.
bool says(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    if (node->kind != Node::Kind::mapping) return node->kind != Node::Kind::null;
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->find(path.substr(0, dot));
    if (node == nullptr) return false;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node->kind != Node::Kind::null;
}

// Writes a value at a path; mappings on the way are made, at the place of the value, so that errors
// name the rule.
void put(Node& root, std::string_view path, const Node& value) {
  Node* node = &root;
  while (!path.empty()) {
    if (node->kind != Node::Kind::mapping)
      *node = Node{.kind = Node::Kind::mapping, .place = node->place};
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string key{path.substr(0, dot)};
    if (node->find(key) == nullptr)
      node->entries.push_back({key, value.place, Node{.place = value.place}});
    node = node->find(key);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  *node = value;
}

/// Files in which values of a mapping stand.
void files_below(const Node& node, std::set<std::string>& files) {
  files.insert(node.place.file);
  for (const Node::Entry& entry : node.entries) files_below(entry.value, files);
}

/// The texts that conditions of these rules ask for.
KeyTexts texts_for(const ChosenRules& rules, ScenarioDraft& draft) {
  std::set<std::string, std::less<>> asked;
  for (const FrameworkRule* rule : rules)
    for (const FrameworkCondition& condition : rule->when) asked.insert(condition.key);
  KeyTexts texts;
  if (asked.empty()) return texts;
  Scenario& scenario = draft.scenario;
  ParallelPlan& plan = scenario.workload.plan;
  // Conditions ask for what holds, not for what was written: `auto` shows the size that follows,
  // and a config.json its dimensions.
  plan.dp_given = plan.dp;
  draft.model_source = ScenarioDraft::from_keys;
  // Every key at or below one that is asked for, and what lies above it.
  const auto wanted = [&](const std::string& path) {
    // `asked` is sorted, so that paths below this one follow it.
    const auto below = asked.lower_bound(path + ".");
    if (below != asked.end() && below->starts_with(path + ".")) return true;
    for (std::size_t dot = path.size(); dot != std::string::npos && dot > 0;
         dot = path.rfind('.', dot - 1))
      if (asked.contains(std::string_view(path).substr(0, dot))) return true;
    return false;
  };
  const std::string content =
      canonical_text([&](Visitor& v) { describe_content(v, draft); }, wanted);
  std::string_view rest = content;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t equals = std::min(line.find('='), line.size() - 1);
    texts.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  // No keys, but what switches of frameworks depend on.
  texts["nodes"] = count_text(scenario.cluster.devices / scenario.cluster.node_devices);
  texts["micro_batches"] = count_text(scenario.micro_batches());
  return texts;
}

/// `frameworks/mindspeed-2.3.yaml:12`
std::string short_place(const Place& place) {
  const std::filesystem::path file = place.file;
  return (file.parent_path().filename() / file.filename()).string() + ":" +
         std::to_string(place.line);
}

bool are_related(const std::string& key, const std::string& path) {
  const std::string &longer = key.size() > path.size() ? key : path,
                    &other = key.size() > path.size() ? path : key;
  return longer.starts_with(other) &&
         (longer.size() == other.size() || longer[other.size()] == '.');
}

const FrameworkRule* rule_of(const ChosenRules& rules, const std::string& path) {
  const auto found = std::ranges::find_if(
      rules, [&](const FrameworkRule* rule) { return are_related(rule->key, path); });
  return found == rules.end() ? nullptr : *found;
}

/// One document and its framework.
class FrameworkRun {
 public:
  FrameworkRun(const Framework& framework, Node bare, const SearchPath& search,
               const Reading& start)
      : framework_{framework}, bare_{std::move(bare)}, search_{search}, start_{start} {}

  FramedDraft result() {
    // Conditions of rules are judged on the values of the document, so that these come first.
    if (!read_values()) {
      attempt({});  // what is wrong without it
      return std::move(framed_);
    }
    for (;;) {
      const ChosenRules chosen = choose();
      if (attempt(chosen).empty()) {
        framed_.framework = describe_run(chosen);
        return std::move(framed_);
      }
      // A rule that has nothing to do here, or may give way, leaves, and the rest is tried again:
      // each round takes at least one rule out, so that this ends.
      if (drop(framed_.reading.diagnostics, chosen)) continue;
      if (names_rule(framed_.reading.diagnostics, chosen)) {
        say_who_named(chosen);
        return std::move(framed_);
      }
      // Keys of the scenario are wrong. Without the framework they may be wrong, too: then that is
      // the plainer message.
      if (!attempt({}).empty() || find_culprits(chosen)) return std::move(framed_);
    }
  }

  /// The rules that hold but for keys that have nothing to do or may give way, whatever else is
  /// wrong with the document.
  ChosenRules settled(const std::set<std::string>& left_out) {
    passed_ = left_out;
    read_values();
    for (;;) {
      ChosenRules chosen = choose();
      if (!drop(attempt(chosen), chosen)) return chosen;
    }
  }

 private:
  /// What the document says without the framework, for its conditions; false: something is wrong.
  bool read_values() {
    ScenarioDraft& draft = framed_.draft;
    Reading reading = start_;
    read_draft(bare_, search_, draft, reading);
    // Settling may report what only a framework mends, so that errors of reading alone count.
    const bool good = reading.diagnostics.empty();
    Checks checks{bare_, reading};
    settle(draft.scenario, checks);
    choose_recipe();
    const std::size_t model_source = draft.model_source;
    texts_ = texts_for(rules_, draft);
    draft.model_source = model_source;
    if (good) keep(reading.assumptions);
    return good;
  }

  /// Leaves in the document what rules may change; the rest goes from attempt to attempt.
  void keep(const std::vector<Assumption>& assumptions) {
    job_only_ = true;
    std::ranges::copy_if(assumptions, std::back_inserter(start_.assumptions),
                         [](const Assumption& a) { return is_kept(a.path); });
    framed_.root = Node{bare_.kind, bare_.place};
    std::swap(framed_.root, bare_);
    std::ranges::copy_if(framed_.root.entries, std::back_inserter(bare_.entries),
                         [](const Node::Entry& entry) { return !is_kept(entry.key); });
  }

  /// Reads and checks the document with the keys of these rules, and says what is wrong.
  const std::vector<Diagnostic>& attempt(const ChosenRules& chosen) {
    FramedDraft next{bare_, {}, start_, {}};
    for (const FrameworkRule* rule : chosen) put(next.root, rule->key, rule->value);
    ScenarioDraft &draft = next.draft, &last = framed_.draft;
    draft.job_only = job_only_;
    if (job_only_) {
      draft.scenario.cluster = std::move(last.scenario.cluster);
      draft.scenario.workload.model = std::move(last.scenario.workload.model);
    }
    read_draft(next.root, search_, draft, next.reading);
    if (job_only_) {
      draft.job_only = false;
      draft.model_source = last.model_source;
      draft.hf_config = std::move(last.hf_config);
      std::vector<Node::Entry>& entries = next.root.entries;
      for (std::ptrdiff_t i = 0; i < std::ssize(framed_.root.entries); ++i)
        if (Node::Entry& entry = framed_.root.entries[i]; is_kept(entry.key))
          entries.insert(entries.begin() + i, std::move(entry));
    }
    check_draft(next.root, draft, next.reading);
    framed_ = std::move(next);
    return framed_.reading.diagnostics;
  }

  ChosenRules choose() const {
    return rules_that_hold(rules_, texts_, [&](const std::string& key) {
      return passed_.contains(key) || left_out_.contains(key) || says(bare_, key);
    });
  }

  void choose_recipe() {
    const FrameworkRecipe* recipe = recipe_of_model();
    rules_ = rules_under(framework_.rules, recipe == nullptr ? no_rules_ : recipe->rules);
    if (recipe != nullptr) recipe_ = recipe->name;
  }

  const FrameworkRecipe* recipe_of_model() const {
    const auto named = [&](const std::string& name) -> const FrameworkRecipe* {
      const auto found = std::ranges::find(framework_.recipes, name, &FrameworkRecipe::name);
      return found == framework_.recipes.end() ? nullptr : &*found;
    };
    // What the scenario names comes first, then the recipe whose models include the file of this
    // one, then the default of the framework.
    if (framework_.recipe == "none" || framework_.recipes.empty()) return nullptr;
    if (!framework_.recipe.empty()) return named(framework_.recipe);
    std::set<std::string> files, real;
    if (const Node* model = bare_.find("model")) files_below(*model, files);
    // Links and relative paths name the same file.
    for (const std::string& file : files) real.insert(real_path(file));
    for (const FrameworkRecipe& recipe : framework_.recipes)
      for (const std::string& model : recipe.models)
        if (real.contains(model)) return &recipe;
    return named("default");
  }

  bool is_lenient(const FrameworkRule& rule) const {
    return framework_.assumed || !rule.recipe.empty();
  }

  /// Takes keys out that nothing needs, and those that may give way; false: there are none.
  bool drop(const std::vector<Diagnostic>& found, const ChosenRules& chosen) {
    const std::size_t before = passed_.size() + left_out_.size();
    for (const Diagnostic& d : found) {
      const FrameworkRule* rule = rule_of(chosen, d.path);
      if (rule == nullptr) continue;
      // A framework sets a switch everywhere, also where it changes nothing; that is no mistake of
      // the scenario.
      if (d.idle) {
        passed_.insert(rule->key);
      } else if (is_lenient(*rule)) {
        left_out_.emplace(rule->key, LeftOut{rule, d.message});
      }
    }
    return passed_.size() + left_out_.size() > before;
  }

  static bool names_rule(const std::vector<Diagnostic>& found, const ChosenRules& chosen) {
    return std::ranges::any_of(
        found, [&](const Diagnostic& d) { return rule_of(chosen, d.path) != nullptr; });
  }

  std::string named_at() const {
    const Place& at = framework_.place;
    if (at.line == 0) return at.file;
    return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  /// Errors of a framework's keys stand where its rules do, and say who named it.
  void say_who_named(const ChosenRules& chosen) {
    for (Diagnostic& d : framed_.reading.diagnostics)
      if (rule_of(chosen, d.path) != nullptr)
        d.message +=
            " (a rule of framework " + framework_.label() + ", named at " + named_at() + ")";
  }

  /// Keys of the scenario fail beside rules that do not: those are found that they do not go with,
  /// one by one. Returns whether one of them may not give way.
  bool find_culprits(ChosenRules chosen) {
    // Rules that must hold come first, so that one that may give way is never kept in their place.
    std::stable_partition(chosen.begin(), chosen.end(),
                          [&](const FrameworkRule* rule) { return !is_lenient(*rule); });
    ChosenRules kept;
    for (const FrameworkRule* rule : chosen) {
      kept.push_back(rule);
      attempt(kept);
      std::vector<Diagnostic>& found = framed_.reading.diagnostics;
      const auto wrong = std::ranges::find_if(
          found, [&](const Diagnostic& d) { return !d.idle || rule_of(kept, d.path) == nullptr; });
      if (wrong == found.end()) continue;
      if (!is_lenient(*rule)) {
        wrong->message += " (beside " + rule->key + " " + rule->text + " of framework " +
                          framework_.label() + ", " + short_place(rule->value.place) +
                          ", named at " + named_at() + ")";
        return true;
      }
      left_out_.emplace(rule->key, LeftOut{rule, wrong->path + " " + wrong->message});
      kept.pop_back();
    }
    return false;
  }

  std::shared_ptr<const AppliedFramework> describe_run(const ChosenRules& chosen) const {
    auto run = std::make_shared<AppliedFramework>();
    run->id = framework_.id;
    run->label = framework_.label();
    run->file = framework_.file;
    const std::string& vendor = framed_.draft.scenario.cluster.device.vendor;
    if (vendor != "unknown" && vendor != framework_.vendor) run->vendor = framework_.vendor;
    run->recipe = recipe_;
    run->assumed = framework_.assumed;
    const auto key = [](const FrameworkRule& rule, const std::string& why) {
      return AppliedFramework::Key{
          rule.key, rule.text, rule.source, short_place(rule.value.place), rule.recipe, why};
    };
    for (const FrameworkRule* rule : chosen) run->keys.push_back(key(*rule, {}));
    for (const auto& [path, left] : left_out_) run->left_out.push_back(key(*left.rule, left.why));
    return run;
  }

  struct LeftOut {
    const FrameworkRule* rule;
    std::string why;
  };

  const Framework& framework_;
  Node bare_;
  const SearchPath& search_;
  Reading start_;
  FramedDraft framed_;     ///< the last attempt
  bool job_only_ = false;  ///< cluster and model are read, and their mappings in the last attempt
  ChosenRules rules_;      ///< with those of the recipe
  const std::vector<FrameworkRule> no_rules_;
  std::string recipe_;
  KeyTexts texts_;
  std::set<std::string> passed_;  ///< keys that have nothing to do here
  std::map<std::string, LeftOut> left_out_;
};

}  // namespace

bool AppliedFramework::sets(std::string_view path) const {
  return std::ranges::find(keys, path, &Key::path) != keys.end();
}

void drop_framework(Node& root) {
  std::erase_if(root.entries, [](const Node::Entry& entry) { return entry.key == "framework"; });
}

void open_framework(Node& root) {
  Node* named = root.kind == Node::Kind::mapping ? root.find("framework") : nullptr;
  if (named == nullptr || named->kind != Node::Kind::scalar || named->text == "none") return;
  Node name = std::move(*named);
  *named = Node{.kind = Node::Kind::mapping, .place = name.place};
  named->entries.push_back({"extends", name.place, std::move(name)});
}

FramedDraft read_framed(Node root, const SearchPath& search, const Reading& start) {
  Reading reading = start;
  const auto framework = framework_of(root, search, reading);
  // Rules become keys below; the word itself is no key of a scenario.
  drop_framework(root);
  if (framework && root.find("workload") != nullptr)
    reading.report(
        framework->place, "framework",
        "does not go with a workload of given times, which launches nothing, allowed: none");
  // With an error of the framework, rules would be half known: the rest is read without them to
  // report more errors at once.
  // Without what the whole file extends, only its own words can be judged.
  const bool whole = !start.failed.contains("");
  if (framework && whole && reading.diagnostics.size() == start.diagnostics.size())
    return FrameworkRun{*framework, std::move(root), search, start}.result();
  FramedDraft framed{std::move(root), {}, std::move(reading), {}};
  read_draft(framed.root, search, framed.draft, framed.reading);
  if (whole) check_draft(framed.root, framed.draft, framed.reading);
  return framed;
}

FramedDocument::FramedDocument(const Node& root, const SearchPath& search, Reading& reading)
    : root_{root}, search_{search} {
  framework_ = framework_of(root, search, reading);
  drop_framework(root_);
  if (!framework_) return;
  rules_ = framework_->rules;
  for (const FrameworkRecipe& recipe : framework_->recipes)
    rules_.insert(rules_.end(), recipe.rules.begin(), recipe.rules.end());
  std::erase_if(rules_, [&](const FrameworkRule& rule) { return says(root_, rule.key); });
}

std::vector<std::pair<std::string, Node>> FramedDocument::keys_of(
    const Node& root, const std::set<std::string>& left_out) const {
  const Reading start;
  FrameworkRun run{*framework_, root, search_, start};
  std::vector<std::pair<std::string, Node>> keys;
  for (const FrameworkRule* rule : run.settled(left_out)) keys.emplace_back(rule->key, rule->value);
  return keys;
}

}  // namespace stepcast
