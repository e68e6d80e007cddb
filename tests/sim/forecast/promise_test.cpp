#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

// What validate accepts runs, and what it refuses is refused with a place: random edits of the
// shipped files. STEPCAST_EDITS says how many (scripts/nightly: 2000).
namespace stepcast {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> files;
  const fs::path root = fs::path(STEPCAST_SOURCE_DIR) / "scenarios";
  for (const char* folder : {"", "what-if", "regression"})
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

/// By key path, every value that a shipped scenario gives it, and some that none does.
using Values = std::map<std::string, std::set<std::string>>;

void collect(const Node& node, const std::string& path, Values& values) {
  if (node.kind == Node::Kind::scalar) values[path].insert(node.text);
  if (const Node* value = node.find("value")) return collect(*value, path, values);
  for (const Node::Entry& entry : node.entries)
    collect(entry.value, path.empty() ? entry.key : path + "." + entry.key, values);
}

Values collected_values(const std::vector<std::string>& files, const SearchPath& search) {
  Values values;
  for (const std::string& file : files) collect(load_scenario(file, {}, search).root, {}, values);
  for (const char* fixed : {"stepcast", "name", "expect", "cluster.name", "model.name"})
    std::erase_if(values, [&](const auto& v) { return v.first.starts_with(fixed); });
  for (std::size_t k = 0; k < chosen_kinds; ++k)
    for (const NamedAlgorithm& algorithm : collective_algorithms())
      values["communication.algorithm." + std::string(name(static_cast<CollectiveKind>(k)))].insert(
          std::string(algorithm.name));
  values["simulate.network"].insert("pairwise");
  for (const char* slices : {"balanced(2)", "balanced(3)", "balanced(5)"})
    values["schedule.slices"].insert(slices);
  return values;
}

/// One or two keys of the pool at another value: one of some scenario, or a number beside it.
std::vector<std::string> random_edits(const Values& values, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<std::string> edits;
  for (std::size_t n = 1 + below(2); n > 0; --n) {
    const auto key = std::next(values.begin(), static_cast<std::ptrdiff_t>(below(values.size())));
    std::string value =
        *std::next(key->second.begin(), static_cast<std::ptrdiff_t>(below(key->second.size())));
    const std::size_t unit = std::min(value.find_first_not_of("0123456789."), value.size());
    const auto number = parse_number(value.substr(0, unit));
    constexpr double factors[] = {0, -1, 0.5, 2, 2, 3, 4, 1000};
    if (number && below(2) == 0)
      value = shortest(*number * factors[below(std::size(factors))]) + value.substr(unit);
    edits.push_back(key->first + "=" + value);
  }
  return edits;
}

/// Runs that would take long say nothing more about the promise.
bool too_dear(const Scenario& scenario) {
  const std::int64_t units = scenario.micro_batches() * scenario.workload.plan.pp *
                             scenario.workload.plan.vpp * scenario.workload.plan.slices *
                             scenario.replayed_steps();
  const bool every_rank = scenario.simulate.fold == Fold::off || scenario.stalls.compute_jitter ||
                          scenario.stalls.gc_pauses || scenario.stalls.allocator_pauses;
  const std::int64_t ranks = every_rank ? scenario.cluster.devices : 16;
  return units * ranks > 200'000 || scenario.cluster.devices > 20'000;
}

/// refused, ran, dear, or what broke the promise.
std::string outcome_of(const std::string& file, const std::vector<std::string>& edits,
                       const SearchPath& search) {
  std::optional<Scenario> scenario;
  try {
    scenario = prepare_scenario(file, edits, search);
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics())
      if (d.place.file.empty()) return "refused without a place: " + d.text();
    return "refused";
  }
  if (too_dear(*scenario)) return "dear";
  scenario->simulate.sharing = Sharing::incremental;
  try {
    const double time = forecast(*scenario).step_time.value();
    return time > 0 && std::isfinite(time) ? "ran" : "ran into a step of " + shortest(time);
  } catch (const std::exception& error) {
    return std::string("valid but: ") + error.what();
  }
}

TEST(Validate, IsZeroExactlyWhereARunAcceptsTheFileNightly) {
  const char* const given = std::getenv("STEPCAST_EDITS");
  const std::size_t count = given ? static_cast<std::size_t>(std::atol(given)) : 60;
  const SearchPath search = default_search_path({});
  const std::vector<std::string> files = shipped_scenarios();
  const Values values = collected_values(files, search);
  std::mt19937_64 random(20261122);
  std::vector<std::pair<std::string, std::vector<std::string>>> cases;
  for (std::size_t i = 0; i < count; ++i)
    cases.emplace_back(files[random() % files.size()], random_edits(values, random));
  std::map<std::string, std::size_t> outcomes;
  run_in_workers(
      count, usable_processors(),
      [&](std::size_t i) { return outcome_of(cases[i].first, cases[i].second, search); },
      [&](const WorkerAnswer& answer) {
        const std::string outcome = answer.failed() ? answer.failure : answer.text;
        const bool kept = outcome == "refused" || outcome == "ran" || outcome == "dear";
        EXPECT_TRUE(kept) << cases[answer.index].first << " with "
                          << joined(cases[answer.index].second) << "\n    " << outcome;
        ++outcomes[kept ? outcome : "broken"];
      });
  for (const auto& [outcome, n] : outcomes) std::cout << outcome << ": " << n << "\n";
  EXPECT_GE(10 * outcomes["ran"], count) << "most edits are refused: the test says little";
}

}  // namespace
}  // namespace stepcast
