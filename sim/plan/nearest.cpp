#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "enumerate.hpp"
#include "launchable.hpp"
#include "plan_keys.hpp"
#include "search_steps.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t most_candidates = 64;

/// How far a value is from a list, in doublings.
double distance(std::int64_t value, const std::vector<std::int64_t>& listed) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t other : listed)
    least = std::min(least, std::abs(std::log2(static_cast<double>(value + 1) /
                                               static_cast<double>(other + 1))));
  return least;
}

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t v : values) text += (text.empty() ? "" : ", ") + std::to_string(v);
  return text;
}

/// How far a point is from the lists of the space, and in which keys.
struct Leaving {
  std::size_t keys = 0;
  double far = 0;
  std::string text, settings;
};

/// A number of keys counts before the distance, because one change is easier to make than two small
/// ones.
Leaving leaving(const PlanSpace& space, const PlanSpace& open, const Strategy& s) {
  Leaving result;
  const auto add = [&](const std::string& key, const std::string& value,
                       const std::string& instead) {
    ++result.keys;
    result.text += (result.text.empty() ? "" : ", ") + key + " " + value + " instead of " + instead;
    result.settings +=
        (result.settings.empty() ? ", --set '" : " --set '") + key + "=" + value + "'";
  };
  const auto values = values_of(s);
  for (std::size_t k = 0; k < fast_key_count; ++k) {
    const auto& listed = space.dimensions.*fast_keys[k].values;
    if (std::ranges::count(listed, values[k]) > 0) continue;
    result.far += distance(values[k], listed);
    add(fast_keys[k].path, std::to_string(values[k]), list_text(listed));
  }
  const std::string& schedule = open.dimensions.schedules[s.schedule];
  const auto& listed = space.dimensions.schedules;
  if (std::ranges::count(listed, schedule) > 0) return result;
  result.far += 1;
  add("schedule.pipeline", schedule, listed.front() + (listed.size() > 1 ? ", ..." : ""));
  return result;
}

/// Of the feasible points of `open` with the best estimates the one that leaves `space` least.
std::optional<PlanRelaxation> nearest_of(const PlanSpace& space, PlanSpace open) {
  // By estimate, so that what is near is also worth running.
  open.spec.shortlist = most_candidates;
  open.spec.objective = PlanSpec::Objective::step_time;
  std::vector<BaseCosts> costs;
  for (const PlanBase& base : open.bases) costs.emplace_back(base);
  std::optional<PlanRelaxation> nearest;
  for (const PlanPoint& point : enumerate(open, costs).kept) {
    const Leaving left = leaving(space, open, point.strategy);
    const bool nearer =
        !nearest || std::pair{left.keys, left.far} < std::pair{nearest->keys, nearest->distance};
    if (!nearer || !reader_finding(scenario_of(open, point.strategy)).empty()) continue;
    nearest = {.change = left.text,
               .settings = left.settings,
               .point = strategy_text(open, point.strategy),
               .keys = left.keys,
               .distance = left.far};
  }
  return nearest;
}

/// Values of one key that its list does not hold, the nearest first, until one makes a point run.
std::optional<PlanRelaxation> by_key(const PlanSpace& space, const FastKey& key, double below) {
  const auto& listed = space.dimensions.*key.values;
  std::vector<std::int64_t> others = space.allowed.*key.values;
  std::ranges::stable_sort(others, {}, [&](std::int64_t v) { return distance(v, listed); });
  for (const std::int64_t value : others) {
    const double far = distance(value, listed);
    // Values come by distance: from here on none is nearer than what another key gave.
    if (far >= below) return {};
    if (far == 0) continue;
    PlanSpace open = space;
    open.dimensions.*key.values = {value};
    if (auto found = nearest_of(space, open)) return found;
  }
  return {};
}

/// Of the relaxations of one key each.
std::optional<PlanRelaxation> by_one_key(const PlanSpace& space) {
  std::optional<PlanRelaxation> nearest;
  double below = std::numeric_limits<double>::infinity();
  const auto consider = [&](const std::optional<PlanRelaxation>& found) {
    if (!found || found->distance >= below) return;
    nearest = found;
    below = found->distance;
  };
  for (const FastKey& key : fast_keys) consider(by_key(space, key, below));
  PlanSpace open = space;
  open.dimensions.schedules = space.allowed.schedules;
  consider(nearest_of(space, open));
  return nearest;
}

struct Constraint {
  std::string key;  ///< path in the file
  std::function<bool(const PlanSpec&)> given;
  std::function<void(PlanSpec&)> drop;
};

/// Each one can be asked for and dropped alike, so that a new constraint is one line here.
std::vector<Constraint> constraints() {
  std::vector<Constraint> all{
      {"plan.constraints.tensor_in_node", [](const PlanSpec& s) { return s.tensor_in_node; },
       [](PlanSpec& s) { s.tensor_in_node = false; }},
      {"plan.constraints.least_micro_batches",
       [](const PlanSpec& s) { return s.least_micro_batches > 1; },
       [](PlanSpec& s) { s.least_micro_batches = 1; }},
      {runs_in_key, [](const PlanSpec& s) { return s.runs_in != PlanSpec::RunsIn::any; },
       [](PlanSpec& s) { s.runs_in = PlanSpec::RunsIn::any; }}};
  using Limit = std::optional<double> PlanSpec::*;
  const std::pair<const char*, Limit> limits[] = {
      {"least_parameters", &PlanSpec::least_parameters},
      {"most_parameters", &PlanSpec::most_parameters},
      {"least_flops_per_token", &PlanSpec::least_flops_per_token},
      {"most_flops_per_token", &PlanSpec::most_flops_per_token}};
  for (const auto& [name, member] : limits)
    all.push_back({std::string("plan.constraints.") + name,
                   [limit = member](const PlanSpec& s) { return (s.*limit).has_value(); },
                   [limit = member](PlanSpec& s) { (s.*limit).reset(); }});
  all.push_back({"plan.memory_reserve",
                 [](const PlanSpec& s) { return s.memory_reserve > Bytes{0}; },
                 [](PlanSpec& s) { s.memory_reserve = Bytes{0}; }});
  return all;
}

/// Constraints are tried one by one, so that the one that is named is enough by itself.
std::optional<PlanRelaxation> by_one_constraint(const PlanSpace& space) {
  for (const Constraint& constraint : constraints()) {
    if (!constraint.given(space.spec)) continue;
    PlanSpace open = space;
    constraint.drop(open.spec);
    auto found = nearest_of(space, open);
    if (!found) continue;
    found->tightest = constraint.key;
    found->change = "without " + found->tightest;
    return found;
  }
  return {};
}

}  // namespace

/// The answer that asks for least comes first: a constraint, then one key, then everything.
std::optional<PlanRelaxation> nearest_feasible(const PlanSpace& space) {
  if (auto found = by_one_constraint(space)) return found;
  if (auto found = by_one_key(space)) return found;
  PlanSpace open = space;
  for (const Constraint& constraint : constraints()) constraint.drop(open.spec);
  open.dimensions = space.allowed;
  return nearest_of(space, open);
}

}  // namespace stepcast
