#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using stepcast::testing::in_child;
using test::TemporaryFiles;

Scenario spread_small(const std::vector<std::string>& overrides) {
  const TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

/// STEPCAST_SPREAD_PLANS asks for more.
std::uint64_t plans() {
  const char* const given = std::getenv("STEPCAST_SPREAD_PLANS");
  const auto number = given ? parse_count(given) : std::nullopt;
  return number ? static_cast<std::uint64_t>(*number) : 5;
}

/// A number of draw `which` of case `i`.
template <class T>
T drawn(std::uint64_t i, std::uint32_t which, std::initializer_list<T> from) {
  const double u = uniform_number(20261122, which, 0, i);
  return from.begin()[static_cast<std::size_t>(u * static_cast<double>(from.size()))];
}

/// Experts over replicas, sharded parameters, pipelines: what the reader accepts of it.
std::vector<std::string> random_plan(std::uint64_t i) {
  const int pp = drawn(i, 1, {1, 2, 4});
  const bool interleaved = pp > 1 && drawn(i, 2, {0, 1}) == 1;
  const int zero = pp == 1 ? drawn(i, 3, {0, 1, 3}) : drawn(i, 3, {0, 1});
  return {"cluster.devices=" + std::to_string(drawn(i, 0, {16, 32, 64})),
          "parallel.pp=" + std::to_string(pp),
          "parallel.vpp=" + std::to_string(interleaved ? 2 : 1),
          std::string("schedule.pipeline=") + (interleaved ? "interleaved_1f1b" : "1f1b"),
          "parallel.tp=" + std::to_string(drawn(i, 4, {1, 2, 4})),
          "parallel.sequence_parallel=false",
          "parallel.ep=" + std::to_string(drawn(i, 5, {1, 2, 4, 8})),
          "parallel.zero=" + std::to_string(zero),
          "training.global_batch=" + std::to_string(drawn(i, 6, {64, 128, 256})),
          "stalls.spread.seed=" + std::to_string(i),
          std::string("stalls.spread.device.sigma=") + drawn(i, 7, {"0.01", "0.03"}),
          std::string("stalls.spread.node.slow_share=") + drawn(i, 8, {"0", "0.1"}),
          "stalls.spread.node.slow_factor=1.1",
          std::string("stalls.checkpoint=") +
              drawn(i, 9, {"none", "{every_steps: 1, blocking_time: 2s}"}),
          std::string("communication.gradient.overlap=") + drawn(i, 10, {"false", "true"})};
}

std::vector<double> step_of(std::vector<std::string> plan, const char* fold) {
  plan.push_back(std::string("simulate.fold=") + fold);
  const Scenario scenario = spread_small(plan);
  return in_child([&] {
    const Forecast f = forecast(scenario);
    return std::vector<double>{f.step_time.value(), f.spread->calm_step_time.value(),
                               f.spread->folded ? f.spread->folded->error_bound : -1,
                               f.mean.computing.value()};
  });
}

// The one approximate fold: the worst replicas against every rank by itself. Short steps whose
// reductions meet the exchanges of units are not folded.
TEST(SpreadStep, OfTheWorstReplicasIsThatOfAllRanks) {
  double largest = 0, sum = 0;
  std::uint64_t compared = 0, apart = 0;
  for (std::uint64_t i = 0; compared < plans(); ++i) {
    ASSERT_LT(i, 40 * plans()) << "the reader refuses most plans";
    std::vector<double> folded;
    try {
      folded = step_of(random_plan(i), "auto");
    } catch (const InputError&) {
      continue;
    }
    const std::vector<double> exact = step_of(random_plan(i), "off");
    ASSERT_EQ(folded.size(), 4U) << i;
    ASSERT_EQ(exact.size(), 4U) << i;
    const double off = folded[0] / exact[0] - 1;
    if (folded[2] < 0) {
      EXPECT_EQ(folded[0], exact[0]) << i;
      ++apart;
      continue;
    }
    EXPECT_NEAR(off, 0, 0.005 + folded[2]) << i << ": " << joined(random_plan(i));
    EXPECT_NEAR(folded[1], exact[1], 1e-9 * exact[1]) << i;
    EXPECT_GT(exact[0], exact[1]) << i;
    EXPECT_LT(folded[2], 0.05) << i;
    EXPECT_EQ(exact[2], -1) << i;
    EXPECT_NEAR(folded[3], exact[3], 1e-6 * exact[3]) << i << ": ranks work at their own speed";
    largest = std::max(largest, std::abs(off));
    sum += off;
    ++compared;
  }
  EXPECT_GT(apart, 0U);
  std::cout << compared << " plans folded, " << apart << " not: mean "
            << 100 * sum / static_cast<double>(compared) << " %, largest " << 100 * largest
            << " %\n";
}

// One rank to a replica: the estimate is a little too long, so that few others may be the slowest.
TEST(SpreadStep, OfPlainReplicasReplaysFew) {
  const auto f = in_child([] {
    const Forecast step =
        forecast(spread_small({"cluster.devices=32", "parallel.pp=1", "parallel.vpp=1",
                               "schedule.pipeline=1f1b", "parallel.tp=1", "parallel.ep=1",
                               "parallel.sequence_parallel=false", "runtime.dispatch=graph_sink",
                               "training.global_batch=64", "stalls.spread.device.sigma=0.05"}));
    const SpreadForecast::Folded& folded = *step.spread->folded;
    return std::vector<double>{static_cast<double>(folded.replicas),
                               static_cast<double>(folded.replayed), folded.error_bound};
  });
  ASSERT_EQ(f.size(), 3U);
  EXPECT_EQ(f[0], 32);
  EXPECT_GE(f[1], 1);
  EXPECT_LE(f[1], 4);
  EXPECT_EQ(f[2], 0);
}

TEST(SpreadStep, OfNothingIsTheStepWithoutTheSection) {
  const auto plain =
      in_child([] { return std::vector<double>{forecast(spread_small({})).step_time.value()}; });
  const auto neutral = in_child([] {
    const Forecast f = forecast(spread_small({"stalls.spread.device.sigma=0"}));
    return std::vector<double>{f.step_time.value(), f.spread ? 1.0 : 0.0};
  });
  ASSERT_EQ(neutral.size(), 2U);
  EXPECT_EQ(neutral[0], plain[0]);
  EXPECT_EQ(neutral[1], 0);
}

// Links of their own make every rank one: what folds otherwise is exact.
TEST(SpreadStep, WithUnlikeLinksIsThatOfEveryRank) {
  const auto with = [](const char* fold) {
    return step_of({"stalls.spread.link.sigma=0.05", "stalls.spread.device.sigma=0.01"}, fold);
  };
  const auto folded = with("auto"), off = with("off");
  ASSERT_EQ(folded.size(), 4U);
  EXPECT_EQ(folded, off);
}

TEST(Seeds, AreTheStepsOfScenariosWithThoseSeeds) {
  const std::vector<std::string> spread{"stalls.spread.device.sigma=0.02", "stalls.spread.seed=7",
                                        "cluster.devices=32"};
  const Scenario scenario = spread_small(spread);
  const SeedRuns one = run_seeds(scenario, 4, 1), two = run_seeds(scenario, 4, 2);
  EXPECT_EQ(one.steps, two.steps);
  EXPECT_EQ(one.first, 7);
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    auto own = spread;
    own[1] = "stalls.spread.seed=" + std::to_string(7 + i);
    const auto alone = step_of(own, "auto");
    ASSERT_EQ(alone.size(), 4U);
    EXPECT_EQ(one.steps[i].value(), alone[0]);
    EXPECT_EQ(one.calm.value(), alone[1]);
  }
}

TEST(Seeds, OfJitterAndOfLinksAreRunsOfTheirOwn) {
  for (const char* drawn : {"stalls.compute_jitter.sigma=0.1", "stalls.spread.link.sigma=0.1"}) {
    const SeedRuns runs = run_seeds(spread_small({drawn}), 3, 2);
    EXPECT_NE(runs.steps[0], runs.steps[1]) << drawn;
    const auto alone = in_child(
        [&] { return std::vector<double>{forecast(spread_small({drawn})).step_time.value()}; });
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(runs.steps[0].value(), alone[0]) << drawn;
  }
}

TEST(Seeds, HaveQuantilesByNearestRank) {
  const Quantiles q = quantiles({10, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(q.mean, 5.5);
  EXPECT_EQ(q.p10, 1);
  EXPECT_EQ(q.p50, 5);
  EXPECT_EQ(q.p90, 9);
  EXPECT_EQ(quantiles({3}).p10, 3);
  const SeedRuns runs{5, {Seconds{3}, Seconds{1}, Seconds{2}}, Seconds{1}};
  EXPECT_EQ(runs.median(), 2U);
  const SeedStatistics s = seed_statistics(spread_small({}), runs);
  EXPECT_EQ(s.median_seed, 7);
  EXPECT_EQ(s.efficiency.p10, 1.0 / 3);
  EXPECT_EQ(s.tokens_per_s->p90, 32.0 * 2048);
}

// 3-4-5 triangles: the two errors are independent.
TEST(Seeds, AddTheirErrorToThatOfTheModel) {
  Scenario scenario = spread_small({});
  SeedStatistics s{.count = 10, .step_time = {100, 97, 100, 104}};
  const StepInterval alone = step_interval(scenario, s);
  EXPECT_FALSE(alone.model);
  EXPECT_EQ(alone.both.low, 97);
  scenario.cluster.interval.emplace();
  scenario.cluster.interval->steps = {{0.96, 1.03}};
  const StepInterval both = step_interval(scenario, s);
  EXPECT_NEAR(both.model->low, 96, 1e-9);
  EXPECT_NEAR(both.both.low, 95, 1e-9);
  EXPECT_NEAR(both.both.high, 105, 1e-9);
  EXPECT_EQ(both.spread.high, 104);
}

}  // namespace
}  // namespace stepcast
