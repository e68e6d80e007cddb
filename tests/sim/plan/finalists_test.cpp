#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/plan/search_steps.hpp"
#include "small_plans.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

namespace stepcast {
namespace {

using test::PlanFile, test::presets;

const char* const jittered = R"(
stepcast: 1
name: jittered-plan
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16, fleet: flawless}
model: {extends: models/llama2-7b.yaml, layers: 4}
parallel: {tp: [2, 8], pp: [1, 2], zero: [1], sequence_parallel: [true]}
training: {sequence: 2048, global_batch: 16, micro_batch: 1, recompute: full}
runtime: {dispatch: graph_sink}
stalls: {compute_jitter: {sigma: 0.1, seed: 3}}
plan: {top: 4, placements: 0, seeds: 5, quantile: 0.8, finalists: 3}
)";

/// The same plan of an intact cluster.
std::string without_stalls() {
  std::string text = jittered;
  const std::size_t first = text.find("stalls:");
  return text.erase(first, text.find('\n', first) - first);
}

/// And without what decides among its finalists.
std::string without_seeds() {
  std::string text = without_stalls();
  const std::size_t first = text.find(", seeds:");
  return text.erase(first, text.find('}', first) - first);
}

std::string message_of(const std::string& text, const std::vector<std::string>& overrides) {
  try {
    PlanFile(text).read(overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Finalists, NearestRankIsTheSmallestThatSoManyKeep) {
  EXPECT_EQ(nearest_rank({4, 1, 3, 2, 5}, 0.8), 4);
  EXPECT_EQ(nearest_rank({4, 1, 3, 2, 5}, 0.81), 5);
  EXPECT_EQ(nearest_rank({4, 1, 3, 2, 5}, 1), 5);
  EXPECT_EQ(nearest_rank({4, 1, 3, 2, 5}, 1e-6), 1);
  std::vector<double> hundred(100);
  std::iota(hundred.begin(), hundred.end(), 1.0);
  for (int percent = 1; percent <= 100; ++percent)
    EXPECT_EQ(nearest_rank(hundred, percent / 100.0), percent);
}

// The plain way: each finalist as a scenario file of its own, run with the seeds.
TEST(Finalists, AreRunAsTheirFilesAre) {
  const PlanFile file(jittered);
  const PlanSpace space = file.read();
  const PlanResult result = search_plan(space, presets(), 2);
  ASSERT_EQ(result.finalists.size(), 3U);
  std::vector<double> deciding;
  for (const PlanPoint& p : result.finalists) {
    const Scenario own = prepare_scenario(space.file, settings_of(space, p.strategy), presets());
    const SeedRuns runs = run_seeds(own, 5, 2);
    std::vector<double> steps;
    for (const Seconds step : runs.steps) steps.push_back(step.value());
    std::ranges::sort(steps);
    EXPECT_EQ(p.seeds->decides.value(), steps[3]);
    EXPECT_EQ(p.seeds->step_time.p50, steps[2]);
    EXPECT_NE(steps[3], steps[2]);
    EXPECT_LE(p.seeds->interval.low, steps[2]);
    EXPECT_GE(p.seeds->interval.high, steps[2]);
    EXPECT_EQ(p.simulated->value(), runs.calm.value());
    deciding.push_back(steps[3]);
  }
  EXPECT_TRUE(std::ranges::is_sorted(deciding));
  EXPECT_EQ(&best_point(space, result), &result.finalists.front());
  EXPECT_NE(plan_table(space, result).find("with 5 seeds of the stalls, 80%"), std::string::npos);
  EXPECT_NE(plan_json(space, result).find("\"memory_margin_bytes\""), std::string::npos);
}

// Stalls come to the finalists alone: search, bounds and proof are those of the intact cluster.
TEST(Finalists, TheSearchKnowsNoStalls) {
  const PlanFile file(jittered), intact(without_seeds());
  const PlanSpace seeded = file.read(), calm = intact.read();
  const PlanResult with = search_plan(seeded, presets(), 2);
  const PlanResult without = search_plan(calm, presets(), 1);
  ASSERT_EQ(with.best.size(), without.best.size());
  for (std::size_t i = 0; i < with.best.size(); ++i) {
    EXPECT_EQ(with.best[i].strategy, without.best[i].strategy);
    EXPECT_EQ(with.best[i].simulated->value(), without.best[i].simulated->value());
  }
  EXPECT_EQ(with.proven, without.proven);
  EXPECT_TRUE(without.finalists.empty());
  EXPECT_EQ(plan_json(calm, without).find("finalists"), std::string::npos);
}

TEST(Finalists, SeedsAndStallsNeedEachOther) {
  EXPECT_NE(message_of(jittered, {"plan.seeds=0"}).find("stalls: are not searched"),
            std::string::npos);
  EXPECT_NE(message_of(without_stalls(), {}).find("plan.seeds: is 5, but nothing is drawn"),
            std::string::npos);
  for (const char* key : {"plan.quantile", "plan.finalists"})
    EXPECT_NE(message_of(without_stalls(), {"plan.seeds=0"})
                  .find(std::string(key) + ": is given, but plan.seeds is 0"),
              std::string::npos);
  EXPECT_EQ(message_of(jittered, {}), "");
  EXPECT_EQ(message_of(without_seeds(), {}), "");
}

}  // namespace
}  // namespace stepcast
