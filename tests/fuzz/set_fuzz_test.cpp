#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "entries.hpp"
#include "paths.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "watch.hpp"

// Every key of a scenario times values that nobody means, over small scenarios: an InputError, or a
// forecast of which every number is one.
namespace stepcast::fuzz {
namespace {

const std::string folder = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/";

/// Small ones that between them have a dense model, experts, a pipeline, stalls and given times.
std::vector<ScenarioDocument> bases(const SearchPath& search) {
  const std::pair<const char*, std::vector<std::string>> files[] = {
      {"llama2-7b-8.yaml", {}},
      {"ideal-pipeline.yaml", {}},
      {"regression/expert-two-hop.yaml", {}},
      {"regression/interleaved-1f1b.yaml", {}},
      {"regression/context-hybrid.yaml", {}}};
  std::vector<ScenarioDocument> all;
  for (const auto& [file, settings] : files)
    all.push_back(load_scenario(folder + file, settings, search));
  return all;
}

/// What is wrong with the answer; empty where there is nothing.
std::string verdict(const ScenarioDocument& base, const std::string& assignment,
                    const SearchPath& search, std::size_t& ran) {
  try {
    ScenarioDocument document = base;
    apply_override(document.root, assignment, search);
    Scenario scenario = prepare_scenario(document, search);
    if (!is_small(scenario)) return {};
    ++ran;
    return wrong_forecast(std::move(scenario));
  } catch (const InputError& error) {
    return error.diagnostics().empty() ? "an error that says nothing" : "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// STEPCAST_SET_CASES: how many; `all` of them at night.
std::size_t asked(std::size_t all) {
  const char* given = std::getenv("STEPCAST_SET_CASES");
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t few = 250;
#else
  constexpr std::size_t few = 1000;
#endif
  if (given == nullptr) return few;
  return given == std::string("all") ? all : std::strtoull(given, nullptr, 10);
}

TEST(SetFuzz, HostileValuesOfEveryKeyAreAnswered) {
  const SearchPath search{{folder}};
  const std::vector<ScenarioDocument> scenarios = bases(search);
  ScenarioDraft draft;
  const std::set<Slot> keys = Slots::of([&](Visitor& visitor) { describe(visitor, draft); });
  ASSERT_GT(keys.size(), 300U);
  const std::vector<Slot> slots(keys.begin(), keys.end());
  const auto values = hostile_values();
  const std::size_t all = slots.size() * values.size(), count = std::min(asked(all), all);
  const char* seed = std::getenv("STEPCAST_FUZZ_SEED");
  std::mt19937 draw{seed == nullptr ? 20261122U
                                    : static_cast<unsigned>(std::strtoul(seed, nullptr, 10))};
  Watch watch;
  std::size_t ran = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = count == all ? i : draw() % all;
    const Slot& slot = slots[n / values.size()];
    const ScenarioDocument& base = scenarios[draw() % scenarios.size()];
    const std::string assignment = slot.before + values[n % values.size()] + slot.after;
    const std::string name = base.path + " --set '" + assignment + "'";
    watch.begin(name);
    EXPECT_EQ(verdict(base, assignment, search, ran), "") << name;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::cout << count << " of " << all << " settings, " << ran << " forecast, "
            << used.ru_maxrss / 1024 << " MiB\n";
  EXPECT_GT(ran, 0U);
  EXPECT_LT(used.ru_maxrss, 2L << 20U) << "KiB";
}

}  // namespace
}  // namespace stepcast::fuzz
