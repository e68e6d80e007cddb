#include "stepcast/sim/forecast/load_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "temporary_files.hpp"

/// Steps of loads that change: each is the forecast of its step, and what is between them is what
/// moves.
namespace stepcast {
namespace {

using stepcast::testing::in_child;
using Overrides = std::vector<std::string>;

const std::string zipf = "moe.routing={distribution: zipf, exponent: 1, lifetime: 3, layers: own}";

Scenario small(const Overrides& overrides) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

double living_step(const Overrides& overrides) {
  return in_child([&] { return std::vector<double>{forecast(small(overrides)).step_time.value()}; })
      .front();
}

Overrides with(Overrides some, const std::string& more) {
  some.push_back(more);
  return some;
}

double mean_of_steps(const Overrides& overrides, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += living_step(with(overrides, "moe.routing.step=" + std::to_string(i)));
  return sum / count;
}

TEST(LoadSteps, AreTheForecastsOfTheirSteps) {
  const LoadSteps steps = run_load_steps(small({zipf}), 4, 2);
  EXPECT_NEAR(steps.step_time.mean, mean_of_steps({zipf}, 4), 1e-12);
  EXPECT_LT(steps.step_time.p10, steps.step_time.p90);
  EXPECT_EQ(steps.even.value(), living_step({}));
  EXPECT_LT(steps.even.value(), steps.step_time.p10);
  EXPECT_FALSE(steps.skewed);
  EXPECT_FALSE(steps.relocation);
  EXPECT_EQ(mean_load_step(small({zipf}), 4, 1).value(), steps.step_time.mean);
}

TEST(LoadSteps, BalanceGainsAndRelocationIsALineOfItsOwn) {
  const Overrides balanced{zipf, "moe.placement=balanced", "moe.relocation.every=2"};
  const LoadSteps steps = run_load_steps(small(balanced), 5, 2);
  ASSERT_TRUE(steps.skewed && steps.relocation);
  EXPECT_NEAR(steps.skewed->value(), mean_of_steps({zipf}, 5), 1e-12);
  EXPECT_EQ(steps.relocation->times, 2);  // before the steps 2 and 4
  EXPECT_GT(steps.relocation->moved, Bytes{0});
  EXPECT_NEAR(steps.relocation->per_step.value(), steps.relocation->time.value() * 2 / 5, 1e-15);
  EXPECT_NEAR(steps.mean().value(), mean_of_steps(balanced, 5) + steps.relocation->per_step.value(),
              1e-12);
}

// Copies on every rank balance whatever comes, and their weights cost in every step.
TEST(LoadSteps, CopiesOfAllExpertsBalanceAll) {
  const Overrides copied{zipf, "moe.spare_experts=6"};
  const Scenario scenario = small(copied);
  const Forecast result = forecast(scenario);
  EXPECT_EQ(result.experts->rank_imbalance, 1);
  EXPECT_GT(result.experts->copied, Bytes{0});
  EXPECT_GT(result.step_time.value(), living_step({}));
}

// Which layer drops the tokens does not change how many FLOPs the model needs.
TEST(LoadSteps, ModelFlopsTakeTheDropsOfAllLayers) {
  const test::TemporaryFiles files;
  const std::string even = "1 1 1 1 1 1 1 1\n", skewed = "9 1 1 1 1 1 1 1\n";
  const auto model_flops = [&](int hot) {
    std::string log;
    for (int layer = 0; layer < 7; ++layer) log += layer == hot ? skewed : even;
    const std::string file = files.write("log.csv", log);
    const Overrides own{"moe.routing={distribution: file, layers: own, file: " + file + "}",
                        "moe.capacity_factor=1.5"};
    return in_child([&] {
      const Forecast result = forecast(small(own));
      return std::vector<double>{result.model_flops.value_or(0), result.experts->dropped};
    });
  };
  const std::vector<double> first = model_flops(0), last = model_flops(6), none = model_flops(-1);
  EXPECT_GT(first[1], 0);
  EXPECT_NEAR(first[1], last[1], 1e-12);
  EXPECT_NEAR(first[0], last[0], 1e-12 * first[0]);
  EXPECT_LT(first[0], none[0]);
}

TEST(LoadSteps, EvenLoadsKeepWhatOfTheExpertsWorks) {
  RoutingSpec routing;
  routing.distribution = RoutingSpec::Distribution::zipf;
  routing.layers = RoutingSpec::Layers::own;
  routing.lifetime = 7;
  routing.step = 3;
  routing.domains = 8;
  routing.step_domains = 2;
  const RoutingSpec even = with_even_loads(routing);
  EXPECT_EQ(even.distribution, RoutingSpec::Distribution::uniform);
  EXPECT_EQ(even.layers, RoutingSpec::Layers::shared);
  EXPECT_FALSE(even.lifetime);
  EXPECT_EQ(even.step, 0);
  EXPECT_EQ(even.domains, 8);
  EXPECT_EQ(even.step_domains, 2);
}

TEST(LoadSteps, EndWhereTheKeyOfTheStepDoes) {
  EXPECT_EQ(load_steps_left(small({zipf})), most_load_steps);
  EXPECT_EQ(load_steps_left(small({zipf, "moe.routing.step=999999"})), 2);
  EXPECT_EQ(load_steps_left(small({zipf, "moe.routing.step=1000000"})), 1);
}

TEST(LoadSteps, FoldAsEveryRankByItself) {
  const Overrides all{zipf, "moe.placement=balanced", "moe.spare_experts=1", "moe.routing.step=2"};
  const double folded = living_step(all);
  EXPECT_NEAR(living_step(with(all, "simulate.fold=off")), folded, 1e-9 * folded);
}

}  // namespace
}  // namespace stepcast
