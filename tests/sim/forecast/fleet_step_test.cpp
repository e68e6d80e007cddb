#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <optional>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/random.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using stepcast::testing::in_child;
using test::TemporaryFiles;

Scenario fleet_small(const std::vector<std::string>& overrides) {
  const TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

const std::vector<std::string> some_fleet{"cluster.fleet.device_sigma=0.02",
                                          "cluster.fleet.slow_nodes.share=0.05",
                                          "cluster.fleet.slow_nodes.factor=1.1"};

template <class T>
T fleet_drawn(std::uint64_t i, std::uint32_t which, std::initializer_list<T> from) {
  const double u = uniform_number(20261128, which, 0, i);
  return from.begin()[static_cast<std::size_t>(u * static_cast<double>(from.size()))];
}

/// Experts over replicas, sharded parameters, pipelines: what the reader accepts of it.
std::vector<std::string> random_fleet_plan(std::uint64_t i) {
  const int pp = fleet_drawn(i, 1, {1, 2, 4});
  const bool interleaved = pp > 1 && fleet_drawn(i, 2, {0, 1}) == 1;
  const int zero = pp == 1 ? fleet_drawn(i, 3, {0, 1, 3}) : fleet_drawn(i, 3, {0, 1});
  return {"cluster.devices=" + std::to_string(fleet_drawn(i, 0, {16, 32, 64})),
          "parallel.pp=" + std::to_string(pp),
          "parallel.vpp=" + std::to_string(interleaved ? 2 : 1),
          std::string("schedule.pipeline=") + (interleaved ? "interleaved_1f1b" : "1f1b"),
          "parallel.tp=" + std::to_string(fleet_drawn(i, 4, {1, 2, 4})),
          "parallel.sequence_parallel=false",
          // What reductions beside units lose among unlike replicas is not in the expected step.
          "communication.gradient.overlap=false",
          "parallel.ep=" + std::to_string(fleet_drawn(i, 5, {1, 2, 4, 8})),
          "parallel.zero=" + std::to_string(zero),
          "training.global_batch=" + std::to_string(fleet_drawn(i, 6, {64, 128, 256})),
          std::string("cluster.fleet.device_sigma=") + fleet_drawn(i, 7, {"0.01", "0.015", "0.03"}),
          std::string("cluster.fleet.slow_nodes=") +
              fleet_drawn(i, 8, {"{share: 0, factor: 1}", "{share: 0.1, factor: 1.1}"}),
          std::string("cluster.fleet.throttled=") +
              fleet_drawn(i, 9, {"{share: 0, factor: 1}", "{share: 0.002, factor: 1.2}"})};
}

struct Mean {
  double mean = 0, doubt = 0;  ///< of the mean itself
};
Mean mean_of(const std::vector<double>& numbers) {
  const auto n = static_cast<double>(numbers.size());
  double sum = 0, squares = 0;
  for (const double x : numbers) sum += x;
  for (const double x : numbers) squares += (x - sum / n) * (x - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

/// The formula of a pipeline at the paces of each seed's slowest replica, over that of equal
/// devices, and the same at the expected pace: what seeds miss of the mean by being few.
struct Formula {
  std::vector<double> of_seeds;
  double expected = 0;
};
Formula formula_of(const Scenario& scenario, const SpeedFactors& pace, std::int64_t seeds) {
  const auto programs = stage_programs(scenario, layers_of(scenario));
  const Placement placement(scenario.workload.plan);
  const LockStep lock_step(placement, programs);
  const PaceEstimate estimate(programs, scenario.pipeline_shape());
  const double even = estimate(std::vector(programs.size(), SpeedFactors{}));
  const Scenario drawn = with_drawn_fleet(scenario);
  Formula formula;
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    const StallPlan stalls =
        plan_stalls(with_seeds(drawn.stalls, seed), placement, scenario.cluster);
    double longest = 0;
    for (const auto& replica : lock_step.paces(stalls))
      longest = std::max(longest, estimate(replica));
    formula.of_seeds.push_back(longest / even);
  }
  formula.expected = estimate(std::vector(programs.size(), pace)) / even;
  return formula;
}

/// Calls `compare` with the plans that the reader accepts.
void for_plans(std::uint64_t count,
               const std::function<void(std::uint64_t, const Scenario&)>& compare) {
  std::uint64_t compared = 0;
  for (std::uint64_t i = 0; compared < count; ++i) {
    ASSERT_LT(i, 40 * count) << "the reader refuses most plans";
    std::optional<Scenario> scenario;
    try {
      scenario = fleet_small(random_fleet_plan(i));
    } catch (const InputError&) {
      continue;
    }
    compare(i, *scenario);
    ++compared;
  }
}

// Without replays many seeds are cheap: the order statistics against draws of every device.
TEST(FleetStep, OrderStatisticsAreTheMeanOfDraws) {
  constexpr std::int64_t seeds = 256;
  for_plans(6, [&](std::uint64_t i, const Scenario& scenario) {
    const auto pace = in_child([&] {
      const Forecast f = forecast(scenario);
      return std::vector<double>{f.fleet->pace.device, f.fleet->pace.host};
    });
    ASSERT_EQ(pace.size(), 2U);
    const Formula formula = formula_of(scenario, {pace[0], pace[1]}, seeds);
    const Mean mean = mean_of(formula.of_seeds);
    EXPECT_NEAR(formula.expected, mean.mean, 0.003 + 3 * mean.doubt)
        << i << ": " << joined(random_fleet_plan(i));
  });
}

// The expected step against the mean of 64 seeds that are replayed. Rare events make the mean of so
// few uncertain by more than that; the formula at the same draws says which way they fell.
TEST(FleetStep, NightlyIsTheMeanOfSeeds) {
  constexpr std::int64_t seeds = 64;
  double largest = 0, largest_plain = 0, sum = 0;
  int above = 0;
  constexpr std::uint64_t count = 40;
  for_plans(count, [&](std::uint64_t i, const Scenario& scenario) {
    const auto expected = in_child([&] {
      const Forecast f = forecast(scenario);
      return std::vector<double>{f.step_time.value(), f.fleet->flawless.value(),
                                 f.fleet->pace.device, f.fleet->pace.host};
    });
    ASSERT_EQ(expected.size(), 4U);
    std::vector<double> steps;
    for (const Seconds step : run_seeds(scenario, seeds, 2).steps) steps.push_back(step.value());
    const Mean plain = mean_of(steps);
    const Formula formula = formula_of(scenario, {expected[2], expected[3]}, seeds);
    // What communication hides, or the host bounds, the draws do not move either.
    const double by_formula = formula.expected - 1;
    const double moved =
        by_formula > 0 ? std::min(1.0, (expected[0] / expected[1] - 1) / by_formula) : 0;
    for (std::size_t k = 0; k < steps.size(); ++k)
      steps[k] -= expected[1] * moved * (formula.of_seeds[k] - formula.expected);
    const Mean without_luck = mean_of(steps);
    const double off = expected[0] / without_luck.mean - 1;
    EXPECT_NEAR(off, 0, 0.005 + 3 * without_luck.doubt / without_luck.mean)
        << i << ": " << joined(random_fleet_plan(i));
    EXPECT_NEAR(expected[0] / plain.mean, 1, 0.005 + 3 * plain.doubt / plain.mean) << i;
    above += std::abs(off) > 0.005 ? 1 : 0;
    largest = std::max(largest, std::abs(off));
    largest_plain = std::max(largest_plain, std::abs(expected[0] / plain.mean - 1));
    sum += off;
  });
  std::cout << count << " plans: mean " << 100 * sum / count << " %, largest " << 100 * largest
            << " %, " << above << " above 0.5 %; with the luck of the draws up to "
            << 100 * largest_plain << " %\n";
}

TEST(FleetStep, IsThatOfEqualDevicesAndAPartOfItsOwn) {
  const auto with = in_child([] {
    const Forecast f = forecast(fleet_small(some_fleet));
    EXPECT_TRUE(f.fleet);
    EXPECT_EQ(f.mean.fleet, f.fleet->cost);
    EXPECT_EQ(f.stages.front().times.fleet, f.fleet->cost);
    return std::vector<double>{f.step_time.value(), f.fleet->flawless.value(),
                               f.fleet->cost.value(), f.mean.total().value()};
  });
  const auto plain = in_child([] {
    const Forecast f = forecast(fleet_small({}));
    EXPECT_FALSE(f.fleet);
    return std::vector<double>{f.step_time.value(), f.mean.fleet.value()};
  });
  ASSERT_EQ(with.size(), 4U);
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_EQ(with[1], plain[0]);
  EXPECT_EQ(plain[1], 0);
  EXPECT_GT(with[2], 0.01 * plain[0]);
  EXPECT_EQ(with[0], with[1] + with[2]);
  EXPECT_NEAR(with[3], with[0], 1e-9 * with[0]);
}

TEST(FleetStep, DoesNotCountWhereItIsFlawlessOrDrawn) {
  const auto counts = [](std::vector<std::string> more) {
    std::vector<std::string> all = some_fleet;
    all.insert(all.end(), more.begin(), more.end());
    return counts_fleet(fleet_small(all));
  };
  EXPECT_TRUE(counts({}));
  EXPECT_FALSE(counts({"cluster.fleet=flawless"}));
  EXPECT_FALSE(counts({"stalls.spread.device.sigma=0.01"}));
  EXPECT_FALSE(counts({"simulate.engine=simgrid"}));
  EXPECT_TRUE(draws_for_seeds(fleet_small(some_fleet)));
  EXPECT_FALSE(draws_for_seeds(fleet_small({})));
}

}  // namespace
}  // namespace stepcast
