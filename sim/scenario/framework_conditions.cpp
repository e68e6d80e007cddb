#include <algorithm>
#include <array>
#include <map>

#include "framework_rules.hpp"
#include "stepcast/base/judge_keys.hpp"
#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

/// Conditions may ask for these words beside keys of the scenario.
constexpr std::array condition_counts{"nodes", "micro_batches"};
constexpr std::string_view device_words = "device.";

/// What a framework's host waits for belongs to its code; all other stalls are of the machine.
constexpr std::string_view own_wait = "stalls.host_sync";
/// Rules set keys of these sections, but for what a step is: its model, its sizes, its plan.
constexpr std::array set_sections{"parallel", "training",      "schedule",
                                  "moe",      "communication", "runtime"};
constexpr std::array kept_keys{
    "parallel.tp",        "parallel.pp",       "parallel.vpp",          "parallel.cp",
    "parallel.ep",        "parallel.etp",      "parallel.dp",           "parallel.dp_replicate",
    "parallel.hpz",       "training.sequence", "training.global_batch", "training.micro_batch",
    "training.precision", "training.recompute"};

bool may_set(const std::string& key) {
  const std::string section = key.substr(0, key.find('.'));
  // A framework brings switches. What is trained, on how many devices and how it is cut is the
  // question itself.
  const bool known = std::ranges::find(set_sections, section) != set_sections.end();
  return key == own_wait || (known && std::ranges::find(kept_keys, key) == kept_keys.end());
}

/// A verdict is asked for every mapping and every value below `node`.
void ask_below(const std::string& path, const Node& node, std::vector<KeyVerdict>& verdicts) {
  verdicts.push_back({path, &node});
  if (node.kind != Node::Kind::mapping) return;
  for (const Node::Entry& entry : node.entries)
    ask_below(path + "." + entry.key, entry.value, verdicts);
}

std::string key_of_condition(const std::string& word) {
  return word.starts_with(device_words) ? "cluster." + word : word;
}

bool is_count_word(const std::string& key) {
  return std::ranges::find(condition_counts, key) != condition_counts.end();
}

/// The values that a condition names, and whether it names all others.
struct ConditionValues {
  std::vector<const Node*> values;
  bool others = false;
};

/// Reads the rules of a file: first all of its keys are judged, in one walk over the description.
class RuleReader {
 public:
  explicit RuleReader(Reading& reading) : reading_{reading} {}

  std::vector<std::vector<FrameworkRule>> read(const std::vector<std::vector<WrittenRule>>& files) {
    for (const std::vector<WrittenRule>& written : files)
      for (const WrittenRule& rule : written) ask(rule);
    // One walk judges all keys: a walk over the description of a scenario takes longer than all
    // else here.
    judge_keys(describe_scenario_file, verdicts_);
    for (const KeyVerdict& verdict : verdicts_) judged_[{verdict.value, verdict.path}] = &verdict;
    std::vector<std::vector<FrameworkRule>> rules(files.size());
    for (std::size_t i = 0; i < files.size(); ++i)
      for (const WrittenRule& rule : files[i]) read(rule, rules[i]);
    return rules;
  }

 private:
  void ask(const WrittenRule& rule) {
    if (rule.set != nullptr)
      for (const Node::Entry& entry : rule.set->entries)
        ask_below(entry.key, entry.value, verdicts_);
    if (rule.when == nullptr) return;
    for (const Node::Entry& entry : rule.when->entries) {
      const std::string key = key_of_condition(entry.key);
      for (const Node* value : values_of_condition(entry.value).values) {
        verdicts_.push_back({key, value});
        // What the words one, many and some compare with.
        if (is_number_word(*value)) verdicts_.push_back({key, &one_});
        if (value->is_word("some")) verdicts_.push_back({key, &none_});
      }
    }
  }

  const KeyVerdict& verdict(const std::string& path, const Node& value) const {
    return *judged_.at({&value, path});
  }

  static ConditionValues values_of_condition(const Node& node) {
    const Node* but = node.kind == Node::Kind::mapping ? node.find("not") : nullptr;
    const Node& named = but != nullptr ? *but : node;
    ConditionValues condition{{}, but != nullptr};
    if (named.kind != Node::Kind::list) return {{&named}, but != nullptr};
    for (const Node& item : named.items) condition.values.push_back(&item);
    return condition;
  }

  void read(const WrittenRule& written, std::vector<FrameworkRule>& rules) {
    std::vector<FrameworkCondition> when;
    if (written.when != nullptr)
      for (const Node::Entry& entry : written.when->entries) read_condition(written, entry, when);
    if (written.set == nullptr) return;
    // Each key of `set` becomes a rule of its own, so that a scenario may say one of them and leave
    // the others.
    const FrameworkRule plain{{}, {}, {}, std::move(when), written.source, written.recipe};
    for (const Node::Entry& entry : written.set->entries)
      read_value(written.path + ".set.", entry.key, entry.place, entry.value, plain, rules);
  }

  void read_value(const std::string& path, const std::string& key, const Place& place,
                  const Node& value, const FrameworkRule& plain,
                  std::vector<FrameworkRule>& rules) {
    const KeyVerdict& found = verdict(key, value);
    const bool mapping = value.kind == Node::Kind::mapping;
    if (found.kind == KeyVerdict::Kind::section && mapping) {
      for (const Node::Entry& entry : value.entries)
        read_value(path, key + "." + entry.key, entry.place, entry.value, plain, rules);
      return;
    }
    if (found.kind != KeyVerdict::Kind::field)
      return report(place, path + key, wrong_assignment(describe_scenario_file, key, value));
    if (!may_set(key))
      return report(place, path + key,
                    "is no key of a framework, allowed: keys of " +
                        joined(std::vector<std::string>(set_sections.begin(), set_sections.end())) +
                        ", but for sizes, training.precision and training.recompute, and " +
                        std::string(own_wait));
    if (!found.wrong.empty()) return report(value.place, path + key, found.wrong);
    FrameworkRule rule = plain;
    rule.key = key;
    rule.value = value;
    rule.text = found.text;
    rules.push_back(std::move(rule));
  }

  void read_condition(const WrittenRule& written, const Node::Entry& entry,
                      std::vector<FrameworkCondition>& when) {
    const std::string key = key_of_condition(entry.key), path = written.path + ".when." + entry.key;
    const ConditionValues named = values_of_condition(entry.value);
    FrameworkCondition condition{key, {}, named.others};
    if (named.values.empty())
      return report(entry.value.place, path, "names no value, allowed: at least one");
    for (const Node* value : named.values) {
      if (value->kind != Node::Kind::scalar)
        return report(value->place, path, "is no word, allowed: a value, a list, {not: [...]}");
      const std::string wrong = add_value(key, *value, named, condition);
      if (!wrong.empty()) return report(value->place, path, wrong);
    }
    when.push_back(std::move(condition));
  }

  /// Adds one value to the condition and returns what is wrong with it.
  std::string add_value(const std::string& key, const Node& value, const ConditionValues& named,
                        FrameworkCondition& condition) const {
    const KeyVerdict& found = verdict(key, value);
    // Nodes and micro-batches are no keys: they follow from several.
    const bool counts = is_count_word(key);
    const auto number = parse_count(value.text);
    if (takes(key, value) || (counts && number)) {
      condition.texts.push_back(takes(key, value) ? found.text : shortest(*number));
      return {};
    }
    if (found.kind == KeyVerdict::Kind::unknown && !counts)
      return wrong_assignment(describe_scenario_file, key, value);
    const bool alone = named.values.size() == 1 && !named.others;
    const auto numbers = [&] { return counts || takes(key, one_); };
    const auto may_lack = [&] { return takes(key, none_); };
    if (alone && is_number_word(value) && numbers()) {
      condition.texts = {"1"};
      condition.others = value.text == "many";
      return {};
    }
    if (alone && value.is_word("some") && may_lack()) {
      condition.texts = {"none"};
      condition.others = true;
      return {};
    }
    const std::string is = "is '" + shortened(value.text) + "'";
    if (counts) return is + ", allowed: one, many, a count";
    if (found.kind == KeyVerdict::Kind::section)
      return may_lack() ? is + ", allowed: some, none"
                        : is + ", but this section is always there, allowed: a condition on one of "
                               "its keys";
    return found.wrong + (numbers() ? ", one, many" : "") + (may_lack() ? ", some" : "");
  }

  static bool is_number_word(const Node& value) {
    return value.is_word("one") || value.is_word("many");
  }

  /// Whether the key may have that value; what only a message asks for is judged by itself.
  bool takes(const std::string& key, const Node& value) const {
    const auto known = judged_.find({&value, key});
    std::vector<KeyVerdict> own;
    if (known == judged_.end()) {
      own.push_back({key, &value});
      judge_keys(describe_scenario_file, own);
    }
    const KeyVerdict& found = known == judged_.end() ? own.front() : *known->second;
    return found.kind == KeyVerdict::Kind::field && found.wrong.empty();
  }

  void report(const Place& place, const std::string& path, const std::string& message) {
    reading_.failed.insert(path);
    reading_.report(place, path, message);
  }

  Reading& reading_;
  std::vector<KeyVerdict> verdicts_;
  std::map<std::pair<const Node*, std::string_view>, const KeyVerdict*> judged_;
  const Node one_{.kind = Node::Kind::scalar, .text = "1"};
  const Node none_{.kind = Node::Kind::scalar, .text = "none"};
};

}  // namespace

std::vector<std::vector<FrameworkRule>> rules_of(const std::vector<std::vector<WrittenRule>>& files,
                                                 Reading& reading) {
  return RuleReader{reading}.read(files);
}

}  // namespace stepcast
