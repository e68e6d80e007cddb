#include "stepcast/sim/forecast/goodput.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "stepcast/base/random.hpp"

namespace stepcast {
namespace {

constexpr double one_minute = 60, one_hour = 3600;

FailureModel model_of(double checkpoint, double restart, double mtbf) {
  return {Seconds{checkpoint}, Seconds{restart}, Seconds{mtbf}};
}

// The optima that Daly 2006 states with figures 3 to 5: R = 10 min, C = 5 min.
TEST(Goodput, DalysIntervalIsThePublishedOne) {
  const auto minutes = [](double mtbf) {
    return daly_interval(Seconds{5 * one_minute}, Seconds{mtbf}).value() / one_minute;
  };
  EXPECT_NEAR(minutes(24 * one_hour), 117, 0.5);
  EXPECT_NEAR(minutes(6 * one_hour), 57, 0.5);
  EXPECT_NEAR(minutes(15 * one_minute), 9.1, 0.05);
}

TEST(Goodput, YoungsIntervalIsTheClosedForm) {
  EXPECT_DOUBLE_EQ(young_interval(Seconds{8}, Seconds{100}).value(), 40);
  EXPECT_EQ(young_interval(Seconds{0}, Seconds{100}).value(), 0);
}

TEST(Goodput, LongCheckpointsAreMadeOncePerFailure) {
  EXPECT_EQ(daly_interval(Seconds{200}, Seconds{100}).value(), 100);
  EXPECT_EQ(daly_interval(Seconds{500}, Seconds{100}).value(), 100);
}

TEST(Goodput, WithoutFailuresOnlyCheckpointsCost) {
  const FailureModel never{Seconds{30}, Seconds{900}, {}};
  EXPECT_DOUBLE_EQ(goodput(never, Seconds{270}), 0.9);
  EXPECT_NEAR(goodput(model_of(30, 900, 1e15), Seconds{270}), 0.9, 1e-9);
}

TEST(Goodput, IsTheCompleteModelInClosedForm) {
  // M = 1: 1 / (e^R (e^(1 + C) - 1)) per unit of work.
  EXPECT_NEAR(goodput(model_of(0, 0, 1), Seconds{1}), 1 / (std::exp(1.0) - 1), 1e-15);
  EXPECT_NEAR(goodput(model_of(1, 0.5, 1), Seconds{1}), 1 / (std::exp(0.5) * (std::exp(2.0) - 1)),
              1e-15);
}

TEST(Goodput, OfAJobThatNeverGetsThroughIsZero) {
  EXPECT_EQ(goodput(model_of(1e6, 1e6, 1), Seconds{1e6}), 0);
}

double real(double low, double high) {
  return low * std::pow(high / low, *rc::gen::inRange(0, 1000001) / 1e6);
}

/// A run that is played failure by failure, mean over many intervals.
double played(const FailureModel& m, double interval, unsigned seed) {
  constexpr int intervals = 20000;
  const double mtbf = m.mtbf->value(), needed = interval + m.checkpoint.value();
  double wall = 0;
  for (std::uint64_t i = 0, draw = 0; i < intervals; ++i) {
    const auto next = [&] { return -mtbf * std::log1p(-uniform_number(seed, 0, 0, draw++)); };
    double life = next();
    while (life < needed) {
      wall += life;
      // Restarts fail too.
      for (life = next(); life < m.restart.value(); life = next()) wall += life;
      wall += m.restart.value();
      life = next();
    }
    wall += needed;
  }
  return interval * intervals / wall;
}

TEST(Goodput, IsWhatPlayedFailuresLeave) {
  for (const auto& [checkpoint, restart, interval] :
       {std::tuple{0.05, 0.02, 0.3}, {0.2, 0.5, 1.0}, {0.01, 0.0, 2.0}}) {
    const FailureModel m = model_of(checkpoint, restart, 1);
    EXPECT_NEAR(played(m, interval, 11), goodput(m, Seconds{interval}), 0.02) << interval;
  }
}

/// The best goodput over a fine scan of intervals.
double best(const FailureModel& m) {
  double most = 0;
  for (double interval = 1e-4; interval < 10; interval *= 1.001)
    most = std::max(most, goodput(m, Seconds{interval * m.mtbf->value()}));
  return most;
}

// As measured by the scan: within 1.1e-5 of the best while a checkpoint takes less than half of the
// mean time between failures, within 0.2 % up to twice it.
TEST(Goodput, NoIntervalIsMuchBetterThanDalys) {
  EXPECT_TRUE(rc::check([] {
    const double mtbf = real(10, 1e6), part = real(1e-4, 2);
    const FailureModel m = model_of(part * mtbf, real(1e-3, 1) * mtbf, mtbf);
    const double daly = goodput(m, daly_interval(m.checkpoint, *m.mtbf)), most = best(m);
    RC_ASSERT(daly <= most * (1 + 1e-6));
    RC_ASSERT(daly >= most * (part < 0.5 ? 1 - 1.1e-5 : 1 - 2e-3));
  }));
}

TEST(Goodput, DalysIntervalBeatsYoungs) {
  EXPECT_TRUE(rc::check([] {
    const double mtbf = real(10, 1e6);
    const FailureModel m = model_of(real(1e-3, 0.5) * mtbf, real(1e-3, 1) * mtbf, mtbf);
    RC_ASSERT(goodput(m, daly_interval(m.checkpoint, *m.mtbf)) >=
              goodput(m, young_interval(m.checkpoint, *m.mtbf)) * (1 - 1e-9));
  }));
}

TEST(Goodput, FallsWithEveryCost) {
  EXPECT_TRUE(rc::check([] {
    const double mtbf = real(10, 1e6), c = real(1e-3, 1) * mtbf, r = real(1e-3, 1) * mtbf;
    const Seconds interval{real(1e-3, 2) * mtbf};
    const double one = goodput(model_of(c, r, mtbf), interval);
    RC_ASSERT(one > 0);
    RC_ASSERT(one < 1);
    RC_ASSERT(goodput(model_of(c * 1.1, r, mtbf), interval) < one);
    RC_ASSERT(goodput(model_of(c, r * 1.1, mtbf), interval) < one);
    RC_ASSERT(goodput(model_of(c, r, mtbf * 1.1), interval) > one);
  }));
}

// --- what a report says ---

Scenario scenario_with(std::int64_t devices, std::optional<StallsSpec::Checkpoint> checkpoint,
                       std::optional<StallsSpec::Failures> failures) {
  Scenario scenario;
  scenario.cluster.devices = devices;
  scenario.stalls.checkpoint = checkpoint;
  scenario.stalls.failures = failures;
  return scenario;
}

Timeline steps_of(double step_time, std::size_t steps = 1) {
  Timeline timeline;
  timeline.step_time = Seconds{step_time};
  timeline.steps.resize(steps, Seconds{step_time});
  return timeline;
}

TEST(Reliability, IsSilentUnlessAsked) {
  EXPECT_FALSE(reliability(scenario_with(8, {}, {}), steps_of(3)));
}

TEST(Reliability, OfEightThousandDevices) {
  const StallsSpec::Checkpoint checkpoint{500, Seconds{30}};
  const StallsSpec::Failures failures{Seconds{50000 * one_hour}, Seconds{900}};
  const auto r = reliability(scenario_with(8192, checkpoint, failures), steps_of(3));
  ASSERT_TRUE(r);
  const double mtbf = 50000 * one_hour / 8192;
  EXPECT_DOUBLE_EQ(r->cluster_mtbf->value(), mtbf);
  EXPECT_EQ(r->checkpoint_interval->value(), 1500);
  EXPECT_NEAR(*r->goodput, 1500 / (mtbf * std::exp(900 / mtbf) * (std::exp(1530 / mtbf) - 1)),
              1e-12);
  const double daly = daly_interval(Seconds{30}, Seconds{mtbf}).value();
  EXPECT_EQ(r->optimal_interval->value(), daly);
  EXPECT_LE(std::abs(static_cast<double>(*r->optimal_every_steps) * 3 - daly), 3);
  EXPECT_GE(*r->goodput_at_optimum, *r->goodput);
}

TEST(Reliability, WithoutFailuresThereIsNoOptimum) {
  const auto r =
      reliability(scenario_with(8, StallsSpec::Checkpoint{9, Seconds{3}}, {}), steps_of(3));
  EXPECT_DOUBLE_EQ(*r->goodput, 0.9);
  EXPECT_FALSE(r->cluster_mtbf);
  EXPECT_FALSE(r->optimal_interval);
  EXPECT_FALSE(r->goodput_at_optimum);
}

TEST(Reliability, WithoutCheckpointsThereIsNoGoodput) {
  const auto r = reliability(scenario_with(8, {}, StallsSpec::Failures{Seconds{800}, Seconds{1}}),
                             steps_of(3));
  EXPECT_EQ(r->cluster_mtbf->value(), 100);
  EXPECT_FALSE(r->goodput);
  EXPECT_FALSE(r->checkpoint_interval);
}

TEST(Reliability, ReplayedCheckpointsAreNoWork) {
  const auto interval = [](std::int64_t every, double step_time, std::size_t steps) {
    const auto scenario = scenario_with(8, StallsSpec::Checkpoint{every, Seconds{4}}, {});
    return reliability(scenario, steps_of(step_time, steps))->checkpoint_interval->value();
  };
  EXPECT_EQ(interval(1, 7, 1), 3);      // the one step saves
  EXPECT_EQ(interval(2, 7, 1), 14);     // it does not
  EXPECT_EQ(interval(1, 7, 5), 3);      // each of the steps 1 to 4 saves
  EXPECT_EQ(interval(2, 5, 5), 2 * 3);  // steps 1 and 3 of the steps 1 to 4 do
  EXPECT_EQ(interval(9, 5, 5), 45);
}

// The first step that ends when the time is over saves; none of those replayed does.
TEST(Reliability, CheckpointsInTimeAreAfterWholeSteps) {
  const auto of = [](double every, double step_time, std::size_t steps) {
    const StallsSpec::Checkpoint saved{1, Seconds{6}, Seconds{every}};
    return *reliability(scenario_with(8, saved, {}), steps_of(step_time, steps));
  };
  EXPECT_EQ(*of(1800, 7, 3).checkpoint_steps, 258);  // 257 steps end a second too early
  EXPECT_EQ(of(1800, 7, 3).checkpoint_interval->value(), 258 * 7);
  EXPECT_DOUBLE_EQ(*of(1800, 7, 3).goodput, 258 * 7 / (258 * 7 + 6.0));
  EXPECT_EQ(*of(1750, 7, 1).checkpoint_steps, 250);
  EXPECT_EQ(*of(3, 7, 1).checkpoint_steps, 1);
}

TEST(Reliability, OptimumIsAtLeastOneStep) {
  const auto r = reliability(scenario_with(8, StallsSpec::Checkpoint{1, Seconds{0}},
                                           StallsSpec::Failures{Seconds{8e6}, Seconds{1}}),
                             steps_of(3));
  EXPECT_EQ(r->optimal_interval->value(), 0);
  EXPECT_EQ(*r->optimal_every_steps, 1);
}

}  // namespace
}  // namespace stepcast
