#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "small_plans.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

/// Objectives beside time and cost, and frontiers of any two measures. docs/plan.md.
namespace stepcast {
namespace {

using namespace test;

constexpr const char* powered = R"(
stepcast: 1
name: powered
framework: none
cluster:
  extends: clusters/atlas-800t-a2.yaml
  devices: 16
  device: {power: {idle: 90, computing: 310, communicating: 150, overhead: 1.2}}
model: {extends: models/llama2-7b.yaml, layers: 4}
parallel: {tp: [2, 8], pp: [1, 2], zero: [1], sequence_parallel: [true]}
training: {sequence: 2048, global_batch: 16, micro_batch: 1, recompute: full}
plan: {placements: 0}
)";

PlanResult planned(const PlanFile& file, const std::vector<std::string>& settings) {
  return search_plan(file.read(settings), presets(), 1);
}

std::string message_of(const std::vector<std::string>& settings,
                       const std::string& text = powered) {
  try {
    PlanFile(text).read(settings);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

double tokens_of_step(const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  return static_cast<double>(training.global_batch * training.sequence);
}

// The plain way: every point as a file of its own.
TEST(PlanObjectives, EnergyIsThatOfTheForecastAndTheLeastOfAll) {
  const PlanFile file(powered);
  const PlanSpace space = file.read({"plan.objective=energy"});
  const PlanResult result = search_plan(space, presets(), 1);
  ASSERT_EQ(result.best.size(), 4U);
  EXPECT_TRUE(result.proven);
  double before = 0;
  for (const PlanPoint& p : result.best) {
    const Scenario scenario = read_point(space, p, presets());
    const Forecast alone = forecast(scenario);
    ASSERT_TRUE(p.energy && alone.energy);
    EXPECT_DOUBLE_EQ(*p.energy, alone.energy->step() / tokens_of_step(scenario));
    EXPECT_LE(p.energy_rate * p.simulated->value(), *p.energy * (1 + 1e-12));
    EXPECT_GE(*p.energy, before);
    before = *p.energy;
  }
  EXPECT_NE(plan_table(space, result).find("energy of a token"), std::string::npos);
  EXPECT_NE(plan_json(space, result).find("\"energy_per_token_j\""), std::string::npos);
}

TEST(PlanObjectives, ThroughputComparesTokensOfUnlikeSteps) {
  const PlanFile file(powered);
  const PlanResult result =
      planned(file, {"plan.objective=throughput", "plan.search={training.global_batch: [16, 64]}"});
  ASSERT_GT(result.best.size(), 4U);
  double before = 0;
  for (const PlanPoint& p : result.best) {
    const double per_token = p.simulated->value() / p.tokens;
    EXPECT_GE(per_token, before);
    before = per_token;
  }
  // Longer steps fill the pipeline and hide more, so that the step that is not the shortest wins.
  EXPECT_EQ(result.best.front().tokens, 64.0 * 2048);
}

TEST(PlanObjectives, TimesOfUnlikeStepsSayWhatComparesThem) {
  const PlanFile file(powered);
  const std::string unlike = "plan.search={training.global_batch: [16, 64]}";
  const auto table = [&](const std::string& objective) {
    const PlanSpace space = file.read({"plan.objective=" + objective, unlike});
    return plan_table(space, search_plan(space, presets(), 1));
  };
  EXPECT_NE(table("step_time").find("plan.objective=throughput compares"), std::string::npos);
  EXPECT_EQ(table("throughput").find("plan.objective=throughput"), std::string::npos);
}

// The bandwidth of a NIC moves time alone, so that every point has a twin of equal memory; the
// slower one comes first.
TEST(PlanObjectives, MemoryTakesTheEmptiestAndOfEqualOnesTheFastest) {
  const PlanFile file(powered);
  const std::string twins = "plan.search={cluster.network.nic.bandwidth: [50Gbps, 200Gbps]}";
  const PlanResult least = planned(file, {"plan.objective=memory", twins});
  const PlanResult all = planned(file, {"plan.objective=pareto", twins});
  ASSERT_FALSE(least.best.empty());
  EXPECT_TRUE(least.proven);
  const auto emptier = [](const PlanPoint& a, const PlanPoint& b) {
    return std::pair(a.peak, *a.simulated) < std::pair(b.peak, *b.simulated);
  };
  ASSERT_EQ(all.best.size(), 8U);
  const PlanPoint& expected = *std::ranges::min_element(all.best, emptier);
  EXPECT_TRUE(std::ranges::any_of(all.best, [&](const PlanPoint& p) {
    return p.peak == expected.peak && *p.simulated > *expected.simulated;
  })) << "without an equal one that is slower nothing is decided by time";
  EXPECT_EQ(least.best.front().peak, expected.peak);
  EXPECT_EQ(least.best.front().simulated, expected.simulated);
}

TEST(PlanObjectives, MemoryOfAFullDeviceLeavesRoomForMicroseconds) {
  PlanSpec spec;
  spec.objective = PlanSpec::Objective::memory;
  constexpr double gib = 1024.0 * 1024 * 1024;
  const auto score = [&](double peak, double time, bool simulated) {
    PlanPoint point;
    point.peak = Bytes{peak};
    if (simulated) point.simulated = Seconds{time};
    return plan_score(spec, point, Seconds{time});
  };
  for (const double peak : {1 * gib, 32 * gib, 512 * gib}) {
    EXPECT_LT(score(peak, 1.000001, true), score(peak, 1.000002, true));
    EXPECT_LT(score(peak, 1.000001, false), score(peak, 1.000002, true)) << "it is promising";
    EXPECT_GT(score(peak, 1.000002, false), score(peak, 1.000001, true)) << "it is not";
    EXPECT_LT(score(peak, 1e6, true), score(peak + 1, 1, true));
  }
  // The sums of forecast and search end in other digits.
  const double half = 32 * gib + 0.5;
  EXPECT_LT(score(half + 1e-4, 1, false), score(half - 1e-4, 2, true));
  EXPECT_LT(score(32 * gib + 1e-4, 1, false), score(32 * gib - 1e-4, 2, true));
  // What the reader refuses when it is timed takes forever, and is never promising.
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_GE(score(gib, never, false), score(32 * gib, 1, true));
}

// Of the zero that is searched, not of the default one that a family has.
TEST(PlanObjectives, GathersThatNeedAZeroAreRefusedByTheZeroOfThePoint) {
  const PlanFile file(powered);
  const PlanSpace space =
      file.read({"communication.parameter.overlap=false", "parallel.zero=[0, 1, 2, 3]"});
  auto costs = costs_of(space);
  const Enumeration found = enumerate(space, costs);
  ASSERT_FALSE(found.kept.empty());
  for (const PlanPoint& p : found.kept)
    EXPECT_TRUE(p.strategy.zero == 1 || p.strategy.zero == 2) << strategy_text(space, p.strategy);
  EXPECT_EQ(found.counts.infeasible.at("no gather could run ahead: zero 1 or 2"), 8);

  WorkloadSpec workload = space.bases.front().scenario.workload;
  workload.communication.gather_overlap = true;
  workload.communication.gather_precision = CommunicationSpec::GatherPrecision::fp8;
  workload.plan.dp = 2;
  EXPECT_NE(wrong_zero(workload, 0), nullptr);
  EXPECT_EQ(wrong_zero(workload, 1), nullptr);
}

TEST(PlanObjectives, AFrontierOfAnyTwoKeepsWhatNothingBeatsInBoth) {
  const PlanFile file(powered);
  for (const std::string pair : {"[time, energy]", "[energy, memory]", "[throughput, devices]"}) {
    const PlanSpace space = file.read({"plan.frontier=" + pair});
    const PlanResult result = search_plan(space, presets(), 1);
    ASSERT_EQ(result.measures.size(), 2U);
    const auto beats = [&](const PlanPoint& a, const PlanPoint& b) {
      const auto of = [&](std::size_t i, const PlanPoint& p) {
        return measured(result.measures[i], p);
      };
      return of(0, a) <= of(0, b) && of(1, a) <= of(1, b) &&
             (of(0, a) < of(0, b) || of(1, a) < of(1, b));
    };
    const auto entries = frontier(result);
    ASSERT_EQ(entries.size(), 4U);
    for (const FrontierEntry& e : entries) {
      const bool beaten = std::ranges::any_of(
          entries, [&](const FrontierEntry& o) { return beats(*o.point, *e.point); });
      EXPECT_EQ(e.dominator != nullptr, beaten) << pair;
      EXPECT_TRUE(e.dominator == nullptr ? e.point->simulated.has_value()
                                         : beats(*e.dominator, *e.point))
          << pair;
    }
    EXPECT_NE(plan_json(space, result).find("\"frontier_of\""), std::string::npos);
  }
}

TEST(PlanObjectives, WhatNothingIsKnownOfIsRefused) {
  const auto expect = [](const std::vector<std::string>& settings, const std::string& text) {
    EXPECT_NE(message_of(settings).find(text), std::string::npos) << message_of(settings);
  };
  EXPECT_EQ(message_of({"plan.objective=energy"}), "");
  std::string unpowered = powered;
  const std::size_t first = unpowered.find("  device: {power");
  unpowered.erase(first, unpowered.find('\n', first) + 1 - first);
  EXPECT_NE(message_of({"plan.objective=energy"}, unpowered)
                .find("plan.objective: is energy, but cluster.device.power is not given"),
            std::string::npos);
  EXPECT_NE(message_of({"plan.frontier=[time, energy]"}, unpowered)
                .find("plan.frontier: has energy, but cluster.device.power is not given"),
            std::string::npos);
  EXPECT_EQ(message_of({"plan.objective=energy", "cluster.device.power.idle=0"}), "");
  expect({"parallel.zero=3", "plan.search={parallel.hpz: [1, 2]}"},
         "parallel.hpz: is not searched, allowed: 1");
  expect({"plan.search={parallel.dp_replicate: [1, 2]}"},
         "parallel.dp_replicate: is not searched, allowed: 1");
  expect({"runtime.update={passes: [clip]}"}, "runtime.update: is not searched, allowed: alone");
  expect({"plan.frontier=[time, cost]"}, "plan.frontier: has cost, but cluster.costs has no price");
  expect({"plan.frontier=[time]"}, "plan.frontier: is not two of the measures");
  expect({"plan.frontier=[time, time]"}, "plan.frontier: is not two of the measures");
  expect({"plan.frontier=[time, speed]"}, "plan.frontier: is not two of the measures");
  expect({"plan.frontier=[time, memory, devices]"}, "plan.frontier: is not two of the measures");
}

}  // namespace
}  // namespace stepcast
