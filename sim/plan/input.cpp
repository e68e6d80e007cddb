#include <algorithm>
#include <filesystem>
#include <set>

#include "document.hpp"
#include "plan_keys.hpp"
#include "point_classes.hpp"
#include "refusals.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

constexpr double most_bases = 20'000;
// Automatic values end here; longer lists can be written out.
constexpr std::int64_t most_chunks_searched = 16, most_micro_batch_searched = 64;

std::vector<std::int64_t> divisors_of(std::int64_t n, std::int64_t most) {
  // Trial up to `most`: sizes are small.
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d)
    if (n % d == 0) all.push_back(d);
  return all;
}

Node scalar(const std::string& text, const Place& place) {
  return Node{.kind = Node::Kind::scalar, .place = place, .text = text};
}

class PlanReader {
 public:
  PlanReader(Node root, std::string file, const SearchPath& search)
      : root_{std::move(root)}, search_{search} {
    space_.file = std::move(file);
    space_.presets = search;
  }

  /// Errors end the reading between its parts, because what comes next would only repeat them.
  PlanSpace read(const std::vector<std::int64_t>& devices) {
    if (root_.kind != Node::Kind::mapping)
      refuse_input(root_.place, {}, "holds no mapping, allowed: a scenario with plan:");
    take_plan();
    take_fast_keys();
    take_slow_keys(devices);
    throw_if_wrong();
    read_bases();
    throw_if_wrong();
    space_.plain_bases = static_cast<std::uint32_t>(space_.bases.size());
    read_fast_values();
    read_schedules();
    search_fast_values();
    refuse_what_is_not_searched(space_, root_, plan_, reading_);
    throw_if_wrong();
    take_stalls();
    add_framed_bases(space_, framed_, search_, reading_);
    throw_if_wrong();
    return std::move(space_);
  }

 private:
  /// `plan:` leaves the document; what is `search` below it stays here.
  void take_plan() {
    const auto entry = std::ranges::find(root_.entries, "plan", &Node::Entry::key);
    if (entry == root_.entries.end()) return;
    plan_ = std::move(entry->value);
    root_.entries.erase(entry);
    // `plan: none` is a scenario without search.
    if (plan_.is_word("none")) return;
    read_mapping(plan_, "plan", reading_,
                 [&](Visitor& v) { describe_plan(v, space_.spec, listed_); });
    find_baseline();
    // Both ends are well-formed by themselves; together they may leave nothing.
    const auto contradicts = [&](const auto& least, const auto& most, const char* name) {
      if (!least || !most || *least <= *most) return;
      const std::string path = std::string("constraints.most_") + name;
      reading_.report(place_of(plan_, path), "plan." + path,
                      "is " + shortest(*most) + ", less than least_" + name + " = " +
                          shortest(*least) + ", allowed: at least that");
    };
    const PlanSpec& plan = space_.spec;
    contradicts(plan.least_parameters, plan.most_parameters, "parameters");
    contradicts(plan.least_flops_per_token, plan.most_flops_per_token, "flops_per_token");
  }

  /// The baseline lies beside the file that names it, which may be one that the plan extends.
  void find_baseline() {
    const std::string& name = space_.spec.baseline;
    if (name.empty()) return;
    const Place place = place_of(plan_, "baseline");
    // A setting of the command line has no folder.
    const bool in_file = !place.file.starts_with("--set ");
    const auto beside =
        in_file ? std::filesystem::path(place.file).parent_path() : std::filesystem::path{};
    const auto file = find_file(name, beside, search_);
    if (!file) {
      reading_.report(
          place, "plan.baseline",
          "names '" + shortened(name) + "', which does not exist, allowed: the path of a scenario");
      return;
    }
    space_.baseline = file->string();
    try {  // it runs after the search, which is too late to learn that it cannot
      prepare_scenario(space_.baseline, {}, search_);
    } catch (const InputError& error) {
      take(error);
    }
  }

  /// A list leaves the document and a word that the reader takes stands in for it, so that the rest
  /// is read by the strict reader.
  void take_fast_keys() {
    const auto take = [&](const char* path, const char* placeholder) {
      const Node* node = find_node(root_, path);
      ListedKey key =
          node == nullptr ? ListedKey{path, {}, false, {}} : listed_key(path, *node, reading_);
      // A list of one value may stay where it is, unless it is written as a list.
      if (key.searched || key.values.size() != 1 ||
          (node != nullptr && node->kind == Node::Kind::list)) {
        if (node != nullptr) put_node(root_, path, scalar(placeholder, node->place));
      }
      return key;
    };
    for (const FastKey& key : fast_keys) fast_.push_back(take(key.path, key.placeholder));
    schedules_ = take(schedule_key, "1f1b");
  }

  void take_slow_keys(const std::vector<std::int64_t>& devices) {
    // Devices of the command line replace those of the file.
    if (devices.empty()) {
      take_slow_key({devices_key});
    } else {
      ListedKey key{devices_key, {}, false, {"--devices"}};
      for (const std::int64_t n : devices)
        key.values.push_back(scalar(std::to_string(n), key.place));
      slow_.push_back(std::move(key));
    }
    for (const SlowKey& key : slow_keys) take_slow_key(key);
    if (listed_ == nullptr) return;
    for (const Node::Entry& entry : listed_->entries) {
      ListedKey key = listed_key(entry.key, entry.value, reading_);
      const bool fast =
          std::ranges::any_of(fast_keys, [&](const FastKey& f) { return entry.key == f.path; });
      // A key in two places would have two lists.
      const bool twice = fast || entry.key == schedule_key ||
                         std::ranges::count(slow_, entry.key, &ListedKey::path) > 0;
      if (twice || key.searched || entry.value.kind != Node::Kind::list) {
        reading_.report(entry.value.place, "plan.search." + entry.key,
                        twice ? "is listed at its own key, allowed: keys that have no list there"
                              : "must be a list of values");
      } else {
        slow_.push_back(std::move(key));
      }
    }
    // A preset goes before the keys inside it.
    std::stable_partition(slow_.begin(), slow_.end(), [](const ListedKey& key) {
      return !key.values.empty() && key.values.front().extended != nullptr;
    });
  }

  /// A table is one value although it is a list, because its items are lists.
  void take_slow_key(const SlowKey& slow) {
    const std::string path = slow.path;
    const Node* node = find_node(root_, path);
    if (node == nullptr) return;
    const bool table = node->kind == Node::Kind::list && !node->items.empty() &&
                       node->items.front().kind == Node::Kind::list;
    if (table) return;
    ListedKey key = listed_key(path, *node, reading_);
    // Some keys have too many values to be searched by a word.
    if (key.searched && searched_key(path)->several == Several::listed) {
      reading_.report(key.place, path, "is 'search', allowed: a value, a list of values");
      return;
    }
    if (key.searched)
      for (const std::string& word : words_of(slow)) key.values.push_back(scalar(word, key.place));
    if (key.searched || node->kind == Node::Kind::list) slow_.push_back(std::move(key));
  }

  /// The number of combinations is checked before they are made.
  void read_bases() {
    // A first value each, so that the document reads as a scenario.
    for (const ListedKey& key : slow_) put_node(root_, key.path, key.values.front());
    double count = 1;
    for (const ListedKey& key : slow_) count *= static_cast<double>(key.values.size());
    if (count > most_bases) {
      reading_.report({space_.file}, "plan.search",
                      "and the lists of words make " + shortest(count) +
                          " combinations, allowed: at most " + shortest(most_bases));
      throw_if_wrong();
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      add_base(i);
      // Every value of every key has been read once by then.
      if (!reading_.diagnostics.empty() && i > slow_.size()) break;
    }
  }

  /// The first base with what its framework says while its sizes are placeholders.
  Scenario framed_scenario() {
    const FramedDocument& document = framed_.front();
    if (!document.framed()) return space_.bases.front().scenario;
    Node root = document.root();
    for (const auto& [path, value] : document.keys_of(root, {})) put_node(root, path, value);
    return read_values(root, search_, reading_);
  }

  /// The value that stands, framework included; where rules ask for other sizes, all that may
  /// stand.
  std::vector<std::int64_t> usual_values(const FastKey& key, const Scenario& usual) {
    std::set<std::int64_t> all{key.of(usual)};
    for (std::uint32_t base = 0; base < space_.plain_bases; ++base) {
      std::set<std::int64_t> said{key.of(space_.bases[base].scenario)};
      bool asks = false;
      for (const FrameworkRule& rule : framed_[base].rules()) {
        if (rule.key != key.path) continue;
        asks |= !rule.when.empty();
        said.insert(key.of(scenario_with({{key.path, rule.value}})));
      }
      if (asks) all.merge(said);
    }
    if (all.size() > 1) space_.ruled.insert(key.path);
    return {all.begin(), all.end()};
  }

  /// The number of a base is its place in the product of the lists, the first key fastest.
  void add_base(std::size_t number) {
    const std::size_t number_of_base = number;
    std::vector<std::pair<std::string, Node>> changes;
    PlanBase base;
    for (const ListedKey& key : slow_) {
      // Mixed radix: the digits of the number pick the values.
      const Node& value = key.values[number % key.values.size()];
      number /= key.values.size();
      changes.emplace_back(key.path, value);
      base.settings.emplace_back(key.path, flow_text(value));
    }
    adds_bases_ = true;
    base.scenario = scenario_with(changes);
    adds_bases_ = false;
    base.plain = static_cast<std::uint32_t>(number_of_base);
    space_.bases.push_back(std::move(base));
  }

  /// Every listed value passes the strict reader, by itself.
  void read_fast_values() {
    const Scenario usual = framed_scenario();
    for (std::size_t k = 0; k < fast_.size(); ++k) {
      auto& values = space_.dimensions.*fast_keys[k].values;
      if (fast_[k].values.empty() && !fast_[k].searched) values = usual_values(fast_keys[k], usual);
      for (const Node& value : fast_[k].values)
        values.push_back(fast_keys[k].of(scenario_with({{fast_keys[k].path, value}})));
    }
  }

  /// What `search` stands for is known even where it is not asked for, because the nearest feasible
  /// point may need it.
  void read_schedules() {
    std::vector<std::string>& names = space_.dimensions.schedules;
    if (schedules_.searched) {
      names = searched_schedules();
    } else if (schedules_.values.empty()) {
      names = {framed_scenario().schedule.pipeline};
    }
    for (const Node& value : schedules_.values)
      names.push_back(scenario_with({{schedule_key, value}}).schedule.pipeline);
    space_.allowed.schedules = searched_schedules();
  }

  /// All that serve the slices of a base.
  std::vector<std::string> searched_schedules() const {
    std::vector<std::string> names;
    for (const PipelineSchedule& schedule : pipeline_schedules())
      if (std::ranges::any_of(space_.bases, [&](const PlanBase& base) {
            const std::int64_t slices = base.scenario.schedule.slices;
            return slices >= schedule.slices.low && slices <= schedule.slices.high;
          }))
        names.emplace_back(schedule.name);
    return names;
  }

  /// All allowed values are kept beside the asked-for ones, because the nearest feasible point may
  /// need them.
  void search_fast_values() {
    for (std::size_t k = 0; k < fast_.size(); ++k) {
      space_.allowed.*fast_keys[k].values = searched(fast_keys[k].path);
      if (fast_[k].searched)
        space_.dimensions.*fast_keys[k].values = space_.allowed.*fast_keys[k].values;
    }
  }

  /// A value that any base can have is searched; the rules refuse it where it does not fit.
  std::vector<std::int64_t> searched(const std::string& path) const {
    std::set<std::int64_t> all;
    const auto add = [&](const std::vector<std::int64_t>& values) {
      all.insert(values.begin(), values.end());
    };
    for (const PlanBase& base : space_.bases) {
      const Scenario& s = base.scenario;
      const auto& moe = s.workload.model.moe;
      const std::int64_t devices = s.cluster.devices;
      // Sizes that divide the devices; rules decide which go together.
      if (path == "parallel.tp" || path == "parallel.cp") add(divisors_of(devices, devices));
      if (path == "parallel.pp") add(divisors_of(devices, s.workload.model.layers));
      if (path == "parallel.vpp") {
        for (std::int64_t v = 1; v <= std::min(most_chunks_searched, s.workload.model.layers); ++v)
          all.insert(v);
      }
      if (path == "parallel.ep") add(divisors_of(moe ? moe->experts : 1, devices));
      if (path == "parallel.etp")
        add(divisors_of(moe ? moe->expert_hidden : 1, s.cluster.node_devices));
      if (path == "training.micro_batch")
        add(divisors_of(s.workload.training.global_batch, most_micro_batch_searched));
    }
    if (path == "parallel.zero") all = {0, 1, 2, 3};
    if (path == "parallel.sequence_parallel") all = {0, 1};
    return {all.begin(), all.end()};
  }

  /// Errors are collected over all values, so that the user sees every wrong one at once.
  Scenario scenario_with(const std::vector<std::pair<std::string, Node>>& changes) {
    Node document = root_;
    for (const auto& [path, value] : changes) put_node(document, path, value);
    Reading reading;
    // Documents are kept where bases are made: rules of frameworks are asked of them later.
    if (adds_bases_) framed_.emplace_back(document, search_, reading);
    Scenario scenario = read_values(document, search_, reading);
    Checks checks{document, reading};
    check_without_sizes(scenario, checks);
    reading_.diagnostics.insert(reading_.diagnostics.end(), reading.diagnostics.begin(),
                                reading.diagnostics.end());
    return scenario;
  }

  /// Costs, bounds and simulations of the search are without them.
  void take_stalls() {
    space_.stalls = space_.bases.front().scenario.stalls;
    for (PlanBase& base : space_.bases) base.scenario.stalls = {};
  }

  void take(const InputError& error) {
    const auto& wrong = error.diagnostics();
    reading_.diagnostics.insert(reading_.diagnostics.end(), wrong.begin(), wrong.end());
  }

  /// Every base reads the same document, so that one mistake would be told once per base.
  void throw_if_wrong() {
    if (reading_.diagnostics.empty()) return;
    std::vector<Diagnostic> once;
    std::set<std::string> seen;
    for (Diagnostic& d : reading_.diagnostics) {
      say_where_lists_stand(d);
      if (seen.insert(d.text()).second) once.push_back(std::move(d));
    }
    throw InputError(std::move(once));
  }

  /// The strict reader knows single values only.
  static void say_where_lists_stand(Diagnostic& d) {
    constexpr std::string_view plans = ": several are for plans and sweeps";
    if (d.message.ends_with(plans)) {
      d.message.resize(d.message.size() - plans.size());
      d.message += "; a plan lists its values as plan.search: {" + d.path + ": [...]}";
    } else if (const auto* key = searched_key(d.path);
               key != nullptr && key->several != Several::listed && d.message.starts_with("is '")) {
      d.message += "; a plan takes a list of them and the word search, too";
    }
  }

  Node root_;  ///< with placeholders for the keys that have several values
  Node plan_;
  const Node* listed_ = nullptr;  ///< `plan.search`
  const SearchPath& search_;
  Reading reading_;
  std::vector<ListedKey> fast_, slow_;
  ListedKey schedules_;
  PlanSpace space_;
  std::vector<FramedDocument> framed_;  ///< the documents of the bases
  bool adds_bases_ = false;
};

/// The scenario of a launch file, which has one value of each key: lists of values and `search`
/// stay in `overrides`.
std::optional<ScenarioDocument> launched_base(const std::string& path,
                                              std::vector<std::string>& overrides,
                                              const std::vector<std::int64_t>& devices,
                                              const SearchPath& search,
                                              std::vector<std::string>& warnings) {
  if (!is_launched(path, overrides, search)) return {};
  constexpr std::string_view cluster = "cluster.extends=";
  std::vector<std::string> single, several;
  for (const std::string& text : overrides) {
    const std::string value = text.substr(std::min(text.find('=') + 1, text.size()));
    if (value.starts_with('[') || value == "search" || text.starts_with("plan."))
      several.push_back(text);
    else
      single.push_back(text.starts_with(cluster) ? "launch.cluster=" + value : text);
  }
  if (!devices.empty()) single.push_back("launch.devices=" + std::to_string(devices.front()));
  overrides = several;
  auto launched = launched_scenario(path, single, search, &warnings);
  // The cut is that of the file's own stages; a plan places layers itself.
  const auto parallel = std::ranges::find(launched->root.entries, "parallel", &Node::Entry::key);
  if (parallel != launched->root.entries.end())
    std::erase_if(parallel->value.entries,
                  [](const Node::Entry& entry) { return entry.key == "layers_per_chunk"; });
  return launched;
}

PlanSpace space_of(Node root, const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::int64_t>& devices, const SearchPath& search) {
  std::vector<Diagnostic> wrong;
  apply_overrides(root, overrides, search, wrong);
  if (!wrong.empty()) throw InputError(std::move(wrong));
  // A scenario is a space of one point, whose layers can still be placed.
  const auto kind = file_kind(root);
  // Rows of checks are scenarios, too.
  if (kind != FileKind::scenario && kind != FileKind::check)
    require_kind(kind, FileKind::plan, path);
  PlanSpace space = PlanReader(std::move(root), path, search).read(devices);
  space.overrides = overrides;
  return space;
}

}  // namespace

PlanSpace read_plan(const std::string& path, const std::vector<std::string>& overrides,
                    const std::vector<std::int64_t>& devices, const SearchPath& search) {
  if (path == "-")
    refuse_input({}, "file name", "is '-', allowed: a file, which is read again to simulate");
  std::vector<std::string> own = overrides, warnings;
  if (auto launched = launched_base(path, own, devices, search, warnings)) {
    PlanSpace space = space_of(launched->root, path, own, devices, search);
    space.launched = std::move(launched);
    space.warnings = std::move(warnings);
    return space;
  }
  return read_plan_text(read_document_text(path, search), path, overrides, devices, search);
}

PlanSpace read_plan_text(std::string_view text, const std::string& path,
                         const std::vector<std::string>& overrides,
                         const std::vector<std::int64_t>& devices, const SearchPath& search) {
  return space_of(load_document_text(text, path, search), path, overrides, devices, search);
}

}  // namespace stepcast
