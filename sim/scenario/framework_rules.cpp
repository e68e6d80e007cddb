#include "framework_rules.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace stepcast {
namespace {

bool contains_all(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::ranges::all_of(
      some, [&](const std::string& text) { return std::ranges::find(all, text) != all.end(); });
}

bool share_some(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::any_of(
      a, [&](const std::string& text) { return std::ranges::find(b, text) != b.end(); });
}

/// Whether every value of `a` is one of `b`.
bool is_part(const FrameworkCondition& a, const FrameworkCondition& b) {
  if (a.others) return b.others && contains_all(a.texts, b.texts);
  return b.others ? !share_some(a.texts, b.texts) : contains_all(b.texts, a.texts);
}

bool are_apart(const FrameworkCondition& a, const FrameworkCondition& b) {
  if (a.others && b.others) return false;
  if (a.others) return contains_all(a.texts, b.texts);
  return b.others ? contains_all(b.texts, a.texts) : !share_some(a.texts, b.texts);
}

std::string text_of(const Place& place) {
  return std::filesystem::path(place.file).filename().string() + ":" + std::to_string(place.line);
}

/// Keys and the keys that their rules ask for.
using Questions = std::map<std::string_view, std::set<std::string_view>>;

using Rules = std::vector<const FrameworkRule*>;

Questions questions_of(const Rules& rules) {
  Questions all;
  for (const FrameworkRule* rule : rules)
    for (const FrameworkCondition& condition : rule->when) all[rule->key].insert(condition.key);
  return all;
}

/// A circle goes through keys whose rules ask for something.
bool may_have_circle(const Rules& rules) {
  std::vector<std::string_view> asked;
  for (const FrameworkRule* rule : rules)
    for (const FrameworkCondition& condition : rule->when)
      if (std::ranges::find(asked, condition.key) == asked.end()) asked.push_back(condition.key);
  return std::ranges::any_of(rules, [&](const FrameworkRule* rule) {
    return !rule->when.empty() && std::ranges::find(asked, rule->key) != asked.end();
  });
}

/// Keys from which no circle can be reached.
std::set<std::string_view> keys_without_circle(const Questions& questions) {
  std::set<std::string_view> known;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [key, asked] : questions) {
      if (known.contains(key)) continue;
      const bool ends = std::ranges::all_of(asked, [&](std::string_view next) {
        return known.contains(next) || !questions.contains(next);
      });
      if (!ends) continue;
      known.insert(key);
      more = true;
    }
  }
  return known;
}

/// A way from `from` back to itself; empty: there is none.
std::vector<std::string_view> circle_from(std::string_view from, const Questions& questions) {
  std::vector<std::string_view> way;
  std::set<std::string_view> seen;
  const std::function<bool(std::string_view)> walk = [&](std::string_view key) {
    way.push_back(key);
    if (const auto found = questions.find(key); found != questions.end())
      for (const std::string_view next : found->second)
        if (next == from || (seen.insert(next).second && walk(next))) return true;
    way.pop_back();
    return false;
  };
  return walk(from) ? way : std::vector<std::string_view>{};
}

bool has_circle(const Rules& rules) {
  if (!may_have_circle(rules)) return false;
  const Questions questions = questions_of(rules);
  return keys_without_circle(questions).size() < questions.size();
}

void report_circles_of(const Rules& rules, const std::string& path, Reading& reading) {
  if (!has_circle(rules)) return;
  const Questions questions = questions_of(rules);
  // Rules of one circle would each report it: the first that is met speaks for all.
  std::set<std::string_view> told;
  for (const FrameworkRule* rule : rules) {
    if (told.contains(rule->key)) continue;
    const std::vector<std::string_view> circle = circle_from(rule->key, questions);
    if (circle.empty()) continue;
    told.insert(circle.begin(), circle.end());
    std::string text = rule->key;
    // Ends with the key that it began with, so that the circle can be read off.
    for (std::size_t i = 1; i <= circle.size(); ++i)
      text.append(i > 1 ? ", which asks for " : " asks for ").append(circle[i % circle.size()]);
    reading.report(
        rule->value.place, path,
        "goes in a circle: " + text + ", allowed: conditions of keys that are known before");
  }
}

/// The text of each key, each decided once.
class Decisions {
 public:
  Decisions(const Rules& rules, const KeyTexts& texts,
            const std::function<bool(const std::string&)>& given)
      : texts_{texts}, given_{given} {
    for (const FrameworkRule* rule : rules) by_key_[rule->key].push_back(rule);
  }

  std::vector<const FrameworkRule*> all() {
    std::vector<const FrameworkRule*> chosen;
    for (const auto& [key, rules] : by_key_)
      if (const FrameworkRule* rule = rule_for(key)) chosen.push_back(rule);
    return chosen;
  }

 private:
  const FrameworkRule* rule_for(const std::string& key) {
    const auto rules = by_key_.find(key);
    if (rules == by_key_.end() || given_(key)) return nullptr;
    const auto [known, fresh] = decided_.try_emplace(key, nullptr);
    if (!fresh) return known->second;
    const FrameworkRule* best = nullptr;
    for (const FrameworkRule* rule : rules->second) {
      if (!std::ranges::all_of(rule->when, [&](const FrameworkCondition& condition) {
            return holds(condition, text_of_key(condition.key));
          }))
        continue;
      if (best == nullptr || is_better(*rule, *best)) best = rule;
    }
    return decided_[key] = best;
  }

  /// The special case wins; of two that say the same, one that does not depend on their order.
  static bool is_better(const FrameworkRule& a, const FrameworkRule& b) {
    const bool below = implies(a, b), above = implies(b, a);
    if (below != above) return below;
    return std::tie(a.text, a.source) < std::tie(b.text, b.source);
  }

  /// What is not there at all counts as none.
  std::string_view text_of_key(const std::string& key) {
    if (const FrameworkRule* rule = rule_for(key)) return rule->text;
    const auto found = texts_.find(key);
    if (found != texts_.end()) return found->second;
    const auto below = texts_.lower_bound(key + ".");
    return below != texts_.end() && below->first.starts_with(key + ".") ? "some" : "none";
  }

  const KeyTexts& texts_;
  const std::function<bool(const std::string&)>& given_;
  std::map<std::string, std::vector<const FrameworkRule*>> by_key_;
  std::map<std::string, const FrameworkRule*> decided_;
};

}  // namespace

bool holds(const FrameworkCondition& condition, std::string_view text) {
  const bool listed = std::ranges::find(condition.texts, text) != condition.texts.end();
  return listed != condition.others;
}

bool implies(const FrameworkRule& a, const FrameworkRule& b) {
  return std::ranges::all_of(b.when, [&](const FrameworkCondition& wide) {
    return std::ranges::any_of(a.when, [&](const FrameworkCondition& narrow) {
      return narrow.key == wide.key && is_part(narrow, wide);
    });
  });
}

bool exclude_each_other(const FrameworkRule& a, const FrameworkRule& b) {
  return std::ranges::any_of(a.when, [&](const FrameworkCondition& one) {
    return std::ranges::any_of(b.when, [&](const FrameworkCondition& other) {
      return one.key == other.key && are_apart(one, other);
    });
  });
}

void report_contradictions(const std::vector<FrameworkRule>& rules, const std::string& path,
                           Reading& reading) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const FrameworkRule &a = rules[j], &b = rules[i];
      if (a.key != b.key || a.text == b.text || exclude_each_other(a, b)) continue;
      if (implies(a, b) != implies(b, a)) continue;
      reading.report(b.value.place, path,
                     "sets " + b.key + " to " + shortened(b.text) + ", the rule of " +
                         text_of(a.value.place) + " to " + shortened(a.text) +
                         ", and both may hold, allowed: conditions of which one is the special "
                         "case, or that exclude each other");
    }
}

Rules rules_under(const std::vector<FrameworkRule>& base, const std::vector<FrameworkRule>& over) {
  Rules rules;
  rules.reserve(base.size() + over.size());
  for (const FrameworkRule& rule : base)
    if (std::ranges::find(over, rule.key, &FrameworkRule::key) == over.end())
      rules.push_back(&rule);
  for (const FrameworkRule& rule : over) rules.push_back(&rule);
  return rules;
}

void report_circles(const Framework& framework, Reading& reading) {
  const Rules of_code = rules_under(framework.rules, {});
  Rules all = of_code;
  for (const FrameworkRecipe& recipe : framework.recipes)
    for (const FrameworkRule& rule : recipe.rules) all.push_back(&rule);
  // Almost always none, whatever the recipe: it is looked for only where there can be one.
  if (!has_circle(all)) return;
  report_circles_of(of_code, "framework.rules", reading);
  for (const FrameworkRecipe& recipe : framework.recipes)
    report_circles_of(rules_under(framework.rules, recipe.rules),
                      "framework.recipes." + recipe.name, reading);
}
void replace_rules(std::vector<FrameworkRule>& base, std::vector<FrameworkRule> over) {
  std::set<std::string> keys;
  for (const FrameworkRule& rule : over) keys.insert(rule.key);
  std::erase_if(base, [&](const FrameworkRule& rule) { return keys.contains(rule.key); });
  std::ranges::move(over, std::back_inserter(base));
}

std::vector<const FrameworkRule*> rules_that_hold(
    const std::vector<const FrameworkRule*>& rules, const KeyTexts& texts,
    const std::function<bool(const std::string&)>& given) {
  return Decisions{rules, texts, given}.all();
}

}  // namespace stepcast
