#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "../temporary_files.hpp"
#include "in_child.hpp"
#include "sim/correlation.hpp"
#include "sim/plan/alone.hpp"
#include "sim/plan/enumerate.hpp"
#include "stepcast/sim/forecast.hpp"
#include "stepcast/sim/plan_report.hpp"

namespace stepcast {
namespace {

const char* const dense = R"(
stepcast: 1
name: small-plan
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: [1, 2, 4], pp: [1, 2, 4], vpp: [1, 2], cp: [1, 2], zero: [0, 1, 2], sequence_parallel: [false, true]}
training: {sequence: 2048, global_batch: 32, micro_batch: [1, 2], recompute: [none, full]}
schedule: {pipeline: [1f1b, gpipe, interleaved_1f1b]}
runtime: {dispatch: graph_sink}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

const char* const experts = R"(
stepcast: 1
name: small-moe-plan
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/mixtral-8x7b.yaml, layers: 8}
parallel: {tp: [1, 2, 8], pp: [2, 4], vpp: [1, 2], ep: [1, 2, 8], etp: [1, 2], zero: [1, 3], sequence_parallel: [true]}
training: {sequence: 4096, global_batch: 64, micro_batch: [1, 2], recompute: [none, selective, full]}
schedule: {pipeline: [1f1b, interleaved_1f1b]}
runtime: {dispatch: eager}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

SearchPath presets() { return default_search_path({}); }

class PlanFile {
 public:
  explicit PlanFile(const std::string& text) : path_{files_.write("plan.yaml", text)} {}
  PlanSpace read(const std::vector<std::string>& overrides = {}) const {
    return read_plan(path_, overrides, {}, presets());
  }
  const std::string& path() const { return path_; }

 private:
  test::TemporaryFiles files_;
  std::string path_;
};

std::vector<BaseCosts> costs_of(const PlanSpace& space) {
  std::vector<BaseCosts> costs;
  for (const PlanBase& base : space.bases) costs.emplace_back(base);
  return costs;
}

/// Every combination by the rules of the reader alone, the reference for every branch that falls.
std::vector<Strategy> all_strategies(const PlanSpace& space) {
  std::vector<Strategy> all;
  const PlanDimensions& d = space.dimensions;
  Strategy s;
  for (s.base = 0; s.base < space.bases.size(); ++s.base)
    for (s.schedule = 0; s.schedule < d.schedules.size(); ++s.schedule)
      for (const auto tp : d.tp)
        for (const auto pp : d.pp)
          for (const auto vpp : d.vpp)
            for (const auto cp : d.cp)
              for (const auto ep : d.ep)
                for (const auto etp : d.etp)
                  for (const auto zero : d.zero)
                    for (const auto mb : d.micro_batch)
                      for (const auto sp : d.sequence_parallel) {
                        s.tp = tp, s.pp = pp, s.vpp = vpp, s.cp = cp, s.ep = ep, s.etp = etp;
                        s.zero = zero, s.micro_batch = mb, s.sequence_parallel = sp == 1;
                        all.push_back(s);
                      }
  return all;
}

bool reader_accepts(const PlanSpace& space, const Strategy& s) {
  const std::int64_t devices = space.bases[s.base].scenario.cluster.devices;
  if (devices % (s.tp * s.cp * s.pp) != 0) return false;
  return reader_finding(scenario_of(space, s)).empty();
}

/// Simulated step time and whether the point fits.
std::vector<double> simulated(const PlanSpace& space, const Strategy& s) {
  return testing::in_child([&]() -> std::vector<double> {
    const Forecast f = forecast(scenario_of(space, s));
    return {f.step_time.value(), f.fits_memory() ? 1.0 : 0.0};
  });
}

/// The winner of a search is the fastest of all points, each of them simulated.
void expect_optimum(const std::string& text, const std::vector<std::string>& overrides) {
  const PlanFile file(text);
  const PlanSpace space = file.read(overrides);
  const PlanResult plan = search_plan(space, presets(), 1);
  double best = std::numeric_limits<double>::infinity();
  std::size_t feasible = 0;
  for (const Strategy& s : all_strategies(space)) {
    if (!reader_accepts(space, s)) continue;
    const std::vector<double> result = simulated(space, s);
    ASSERT_EQ(result.size(), 2U) << strategy_text(space, s);
    if (result[1] == 0) continue;
    ++feasible;
    best = std::min(best, result[0]);
  }
  ASSERT_GT(feasible, 20U);
  ASSERT_FALSE(plan.best.empty());
  EXPECT_TRUE(plan.proven);
  EXPECT_NEAR(plan.best.front().simulated->value(), best, 1e-9 * best);
}

TEST(Plan, FindsTheExhaustiveOptimumOfDenseSpaces) {
  expect_optimum(dense, {"parallel.cp=1"});
  expect_optimum(dense, {"parallel.cp=1", "runtime.dispatch=eager", "parallel.zero=1"});
  expect_optimum(dense, {"schedule.pipeline=1f1b", "parallel.vpp=1", "cluster.devices=32"});
}

TEST(Plan, FindsTheExhaustiveOptimumOfSpacesWithExperts) {
  expect_optimum(experts, {"parallel.etp=1", "parallel.zero=1"});
  expect_optimum(experts, {"parallel.etp=1", "training.micro_batch=1"});
}

TEST(Plan, EveryPointIsCountedOnce) {
  const PlanFile file(experts);
  const PlanSpace space = file.read();
  auto costs = costs_of(space);
  const Enumeration all = enumerate(space, costs);
  double counted = all.counts.bounded + all.counts.estimated;
  for (const auto& [reason, points] : all.counts.infeasible) counted += points;
  EXPECT_EQ(counted, space.points());
  EXPECT_EQ(counted, static_cast<double>(all_strategies(space).size()));
}

TEST(Plan, ArithmeticAndReaderAgreeOnWhatIsFeasible) {
  for (const char* text : {dense, experts}) {
    const PlanFile file(text);
    const PlanSpace space = file.read();
    auto costs = costs_of(space);
    const Enumeration kept = enumerate(space, costs);
    for (const PlanPoint& p : kept.kept)
      EXPECT_TRUE(reader_accepts(space, p.strategy)) << strategy_text(space, p.strategy);
  }
}

TEST(Plan, BoundsAreNeverAboveTheSimulationAndEstimatesRankAlike) {
  for (const char* text : {dense, experts}) {
    const PlanFile file(text);
    const PlanSpace space = file.read();
    auto costs = costs_of(space);
    const Enumeration all = enumerate(space, costs);
    ASSERT_GT(all.kept.size(), 200U);
    std::vector<double> estimates, times;
    for (std::size_t i = 0; i < all.kept.size(); i += all.kept.size() / 120) {
      const PlanPoint& p = all.kept[i];
      const auto result = simulated(space, p.strategy);
      ASSERT_EQ(result.size(), 2U);
      const double alone =
          step_alone(scenario_of(space, p.strategy), costs[p.strategy.base].times).value();
      EXPECT_LE(p.bound.value(), result[0] * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_LE(alone, result[0] * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_LE(p.bound.value(), alone * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_EQ(result[1], 1) << strategy_text(space, p.strategy);
      estimates.push_back(p.estimate.value());
      times.push_back(result[0]);
    }
    EXPECT_GE(rank_correlation(estimates, times), 0.95);
  }
}

TEST(Plan, MemoryIsThatOfTheForecast) {
  const PlanFile file(dense);
  const PlanSpace space = file.read();
  auto costs = costs_of(space);
  const Enumeration all = enumerate(space, costs);
  for (std::size_t i = 0; i < all.kept.size(); i += all.kept.size() / 30) {
    const PlanPoint& p = all.kept[i];
    const auto peak = testing::in_child([&]() -> std::vector<double> {
      double most = 0;
      const Forecast f = forecast(scenario_of(space, p.strategy));
      for (const StageForecast& stage : f.stages)
        most = std::max(most, stage.memory->peak().value());
      return {most};
    });
    ASSERT_EQ(peak.size(), 1U);
    EXPECT_NEAR(p.peak.value(), peak[0], 1e-6 * peak[0]) << strategy_text(space, p.strategy);
  }
}

TEST(Plan, SaysWhatStandsInTheWayWhenNothingIsFeasible) {
  const PlanFile file(dense);
  const PlanSpace small = file.read({"cluster.device.memory.capacity=8GiB"});
  const PlanResult none = search_plan(small, presets(), 1);
  EXPECT_TRUE(none.best.empty());
  ASSERT_TRUE(none.nearest);
  EXPECT_NE(plan_failure(small, none).find("memory"), std::string::npos);
  const PlanSpace odd = file.read({"parallel.tp=3"});
  const PlanResult nothing = search_plan(odd, presets(), 1);
  EXPECT_EQ(nothing.tightest, "tp*cp*pp does not divide the devices");
}

TEST(Plan, ReportsAllWrongKeysAtTheirPlaces) {
  const PlanFile file(R"(
stepcast: 1
name: wrong
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml}
parallel: {tp: [], pp: [1, 1]}
training: {sequence: 2048, global_batch: 32, recompute: [none, [full]]}
plan: {objectiv: step_time}
)");
  try {
    file.read();
    FAIL() << "the file is wrong";
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.diagnostics().size(), 4U) << what;
    EXPECT_NE(what.find("plan.yaml:6:16: parallel.tp: is an empty list"), std::string::npos)
        << what;
    EXPECT_NE(what.find("parallel.pp: holds 1 twice"), std::string::npos) << what;
    EXPECT_NE(what.find("training.recompute: holds a list in a list"), std::string::npos) << what;
    EXPECT_NE(what.find("did you mean objective?"), std::string::npos) << what;
  }
}

TEST(Plan, ListedValuesPassTheStrictReader) {
  const PlanFile file(dense);
  EXPECT_THROW(file.read({"parallel.tp=[2, 0]"}), InputError);
  EXPECT_THROW(file.read({"training.recompute=[none, some]"}), InputError);
  EXPECT_THROW(file.read({"plan.search={model.hiden: [1, 2]}"}), InputError);
  EXPECT_EQ(file.read({"plan.search={cluster.network.nic.latency: [1us, 2us]}"}).bases.size(), 4U);
}

TEST(Plan, TheWinnersFileIsTheWinner) {
  const PlanFile file(dense);
  const PlanSpace space = file.read({"parallel.cp=1"});
  const PlanResult plan = search_plan(space, presets(), 1);
  ASSERT_FALSE(plan.best.empty());
  const PlanPoint& winner = plan.best.front();
  const std::string directory = std::filesystem::path(file.path()).parent_path().string();
  const std::string beside = directory + "/winner.yaml";
  std::ofstream(beside) << plan_scenario(space, winner, directory);
  const auto time = testing::in_child([&]() -> std::vector<double> {
    return {forecast(read_scenario(beside, {}, presets())).step_time.value()};
  });
  ASSERT_EQ(time.size(), 1U);
  EXPECT_EQ(time[0], winner.simulated->value());
}

TEST(Plan, RanksWithTiesAsSpearmanDoes) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 40}), 1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), std::sqrt(0.9), 1e-12);
}

}  // namespace
}  // namespace stepcast
