#include <gtest/gtest.h>

#include "pipelines.hpp"
#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_statistics.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> all;
  for (const double v : values) all.emplace_back(v);
  return all;
}

TEST(StepStatistics, TheFirstStepIsApart) {
  const StepStatistics s = step_statistics(seconds({9, 1, 2, 3, 4}));
  EXPECT_EQ(s.first, Seconds{9});
  EXPECT_EQ(s.mean, Seconds{2.5});
  EXPECT_EQ(s.p50, Seconds{2});
  EXPECT_EQ(s.p95, Seconds{4});
  EXPECT_EQ(s.longest, Seconds{4});
}

TEST(StepStatistics, PercentilesAreByNearestRank) {
  std::vector<Seconds> steps{Seconds{1000}};
  for (int i = 100; i >= 1; --i) steps.emplace_back(i);
  const StepStatistics s = step_statistics(steps);
  EXPECT_EQ(s.p50, Seconds{50});
  EXPECT_EQ(s.p95, Seconds{95});
  EXPECT_EQ(s.p99, Seconds{99});
  EXPECT_EQ(s.longest, Seconds{100});
}

// Stages that meet at nothing start their next step when they are done: the pipeline stays full at
// the end of 1f1b, so that only the first step pays for filling it.
TEST(Steps, PartsAddUpToTheMeanStep) {
  for (const std::int64_t steps : {1, 2, 5}) {
    PipelineCase c{"1f1b", {4, 1, 8, 4}};
    c.steps = steps;
    const Timeline t = run_pipeline(c);
    ASSERT_EQ(t.steps.size(), static_cast<std::size_t>(steps));
    EXPECT_NEAR(t.steps[0].value(), 33, 1e-12);
    for (const RankTimes& times : t.classes)
      EXPECT_NEAR(times.total().value(), t.step_time.value(), 1e-9);
  }
}

TEST(Steps, OneStageRepeatsItsStep) {
  PipelineCase c{"1f1b", {1, 1, 8, 1}};
  c.steps = 7;
  const Timeline t = run_pipeline(c);
  for (const Seconds step : t.steps) EXPECT_NEAR(step.value(), 24, 1e-12);
  EXPECT_NEAR(t.step_time.value(), 24, 1e-12);
  EXPECT_NEAR(t.classes.front().computing.value(), 24, 1e-9);
}

// Hosts that pause half of the time hold their devices up; a pause never gives time back.
TEST(Steps, CollectingGarbageTakesTime) {
  const test::TemporaryFiles files;
  const std::string file = files.write("small.yaml", test::small_scenario);
  const auto time_with = [&](const std::vector<std::string>& stalls) {
    return testing::in_child([&] {
             return std::vector<double>{
                 forecast(prepare_scenario(file, stalls, {})).step_time.value()};
           })
        .at(0);
  };
  const double calm = time_with({});
  const double paused =
      time_with({"stalls={gc_pauses: {duration: 50ms, period: 100ms, synchronised: true}}"});
  EXPECT_GT(paused, 1.5 * calm);
}

// A loader that works ahead sets the pace where it is slower than the step, from the first
// simulated step on; one that works in the step's own time adds to it.
TEST(Steps, LastAsLongAsTheirBatchesTakeToLoad) {
  const test::TemporaryFiles files;
  const std::string file = files.write("small.yaml", test::small_scenario);
  const auto steps_with = [&](const std::string& steps, const std::string& loader) {
    return testing::in_child([&] {
      std::vector<double> all;
      const Forecast run = forecast(
          prepare_scenario(file, {"simulate.steps=" + steps, "stalls.data_loader=" + loader}, {}));
      for (const Seconds step : run.timeline.steps) all.push_back(step.value());
      all.push_back(run.timeline.classes.front().total().value());
      return all;
    });
  };
  const double calm = steps_with("1", "{time_per_step: 0s}")[0];
  for (const char* steps : {"1", "4"}) {
    for (const char* ahead : {"1", "3"}) {
      const std::string prefetch = ", prefetch: " + std::string(ahead) + "}";
      for (const double slow : steps_with(steps, "{time_per_step: 30s" + prefetch))
        EXPECT_NEAR(slow, 30, 1e-9);
      for (const double quick : steps_with(steps, "{time_per_step: 1us" + prefetch))
        EXPECT_NEAR(quick, calm, 0.05 * calm);
    }
  }
  EXPECT_NEAR(steps_with("1", "{time_per_step: 30s}")[0], calm + 30, 0.05 * calm);
}

}  // namespace
}  // namespace stepcast
