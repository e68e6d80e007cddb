#include <gtest/gtest.h>

#include <cmath>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/campaign.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/goodput.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

// The numbers that a campaign reports, and where it is refused.
namespace stepcast {
namespace {

using testing::in_child;

Scenario numbered(std::vector<std::string> overrides) {
  overrides.emplace_back("simulate.sharing=incremental");
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

Scenario campaign(const std::string& what, const std::string& failures = "device_mtbf: 50h") {
  return numbered({"stalls.failures={" + failures + ", restart: 10s}",
                   "stalls.checkpoint={every_steps: 50, blocking_time: 100ms}",
                   "campaign=" + what});
}

/// Number of the run, from 1, of 201 that ended at that time or earlier.
constexpr double runs = 201;

TEST(CampaignNumbers, TenthsAndQuantilesAreByNearestRank) {
  const std::vector<double> f = in_child([] {
    const Scenario s = campaign("{steps: 20000, runs: 201}", "device_mtbf: 1h");
    const CampaignForecast c = forecast_campaign(s, 1, 1, {});
    const auto within = [&](Seconds date) { return *forecast_campaign(s, 1, 1, date).within; };
    EXPECT_EQ(c.reached.size(), 10U);
    EXPECT_DOUBLE_EQ(c.reached[4].probability, 0.5);
    EXPECT_EQ(c.reached[0].wall.value(), c.wall.p10);
    EXPECT_EQ(c.reached[4].wall.value(), c.wall.p50);
    EXPECT_EQ(c.reached[8].wall.value(), c.wall.p90);
    return std::vector<double>{within(c.reached[0].wall), within(c.reached[4].wall),
                               within(c.reached[9].wall), within(Seconds{0})};
  });
  ASSERT_EQ(f.size(), 4U);
  EXPECT_DOUBLE_EQ(f[0], 21 / runs);
  EXPECT_DOUBLE_EQ(f[1], 101 / runs);
  EXPECT_DOUBLE_EQ(f[2], 1);
  EXPECT_DOUBLE_EQ(f[3], 0);
}

// Two nodes of eight devices and a spare one.
TEST(CampaignNumbers, HoursCountEveryDeviceAndTheMeanAddsUp) {
  const std::vector<double> f = in_child([] {
    const CampaignForecast c =
        forecast_campaign(campaign("{steps: 2000, runs: 10, spares: 1}"), 1, 1, {});
    const CampaignRun& m = c.mean;
    const double parts = (m.computing + m.saving + m.lost + m.restarting + m.waiting).value();
    return std::vector<double>{c.device_hours.mean / c.wall.mean, c.device_hours.p10 / c.wall.p10,
                               c.device_hours.p50 / c.wall.p50,   c.device_hours.p90 / c.wall.p90,
                               m.wall.value() / c.wall.mean,      parts / c.wall.mean,
                               m.computing / (c.step_time * 2000)};
  });
  ASSERT_EQ(f.size(), 7U);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(f[i], 24.0 / 3600, 1e-12) << i;
  for (int i = 4; i < 7; ++i) EXPECT_NEAR(f[i], 1, 1e-9) << i;
}

// Without a failure: 2000 steps and 40 checkpoints of 0.1 s, where steps take 0.5 or twice as long.
TEST(CampaignNumbers, TheIntervalIsOnTheStepsAlone) {
  const std::vector<double> f = in_child([] {
    Scenario s = campaign("{steps: 2000, runs: 3}", "device_mtbf: 1000000000000s");
    s.cluster.interval.emplace();
    s.cluster.interval->steps = {{0.5, 2}};
    s.cluster.interval->experts = ClassRange{{0.5, 2}};
    const CampaignForecast c = forecast_campaign(s, 1, 1, {});
    const double steps = c.step_time.value() * 2000;
    return std::vector<double>{(c.wall_low->p50 - 4) / steps, (c.wall.p50 - 4) / steps,
                               (c.wall_high->p50 - 4) / steps};
  });
  ASSERT_EQ(f.size(), 3U);
  EXPECT_NEAR(f[0], 0.5, 1e-9);
  EXPECT_NEAR(f[1], 1, 1e-9);
  EXPECT_NEAR(f[2], 2, 1e-9);
}

std::string said(const Scenario& s) {
  try {
    forecast_campaign(s, 1, 1, {});
  } catch (const InputError& error) {
    return error.diagnostics().at(0).path;
  }
  return "";
}

// A job that is met by a failure every hundred thousand seconds needs r of them to start again:
// e^-r of its time is of use, which has to be a thousandth.
TEST(CampaignNumbers, ThatUsesLessThanAThousandthNeverFinishes) {
  const auto path = [](const char* restart) {
    const auto f = in_child([&] {
      const Scenario s = numbered(
          {std::string("stalls.failures={device_mtbf: 1600000s, restart: ") + restart + "}",
           "campaign={steps: 1, runs: 1}"});
      return std::vector<double>{said(s) == "campaign" ? 1.0 : 0.0};
    });
    return f.at(0);
  };
  EXPECT_EQ(path("650000s"), 0);
  EXPECT_EQ(path("730000s"), 1);
}

// An interval in time is that of as many whole steps: the same campaign to the bit.
TEST(CampaignNumbers, CheckpointsInTimeAreThoseOfTheirSteps) {
  const std::vector<double> f = in_child([] {
    const auto wall = [](const std::string& interval) {
      const Scenario s = numbered({"stalls.failures={device_mtbf: 50h, restart: 10s}",
                                   "stalls.checkpoint={" + interval + ", blocking_time: 100ms}",
                                   "campaign={steps: 20000, runs: 20}"});
      return forecast_campaign(s, 1, 1, {});
    };
    const CampaignForecast steps = wall("every_steps: 300");
    const double time = steps.step_time.value() * 299.5;
    const CampaignForecast timed = wall("every: " + std::to_string(time) + "s");
    const CampaignForecast rarely = wall("every: 1000000s");
    return std::vector<double>{steps.wall.mean, timed.wall.mean, steps.mean.saving.value(),
                               timed.mean.saving.value(), rarely.mean.saving.value()};
  });
  ASSERT_EQ(f.size(), 5U);
  EXPECT_EQ(f[0], f[1]);
  EXPECT_EQ(f[2], f[3]);
  EXPECT_DOUBLE_EQ(f[4], 0.1);  // behind the last step alone
}

// Without checkpoints a thousand steps have to fit between two failures: of x mean distances
// x / (e^x - 1) is of use, 1.5 % of 6 and 0.05 % of 10.
TEST(CampaignNumbers, IntervalsMuchLongerThanFailuresAreApartNeverFinish) {
  const auto refused = [](double distances) {
    const auto f = in_child([&] {
      const double step = forecast(numbered({})).step_time.value();
      Scenario s = numbered(
          {"stalls.failures={device_mtbf: 1h, restart: 0s}", "campaign={steps: 1000, runs: 1}"});
      s.stalls.failures->device_mtbf = Seconds{16 * 1000 * step / distances};
      return std::vector<double>{said(s) == "campaign" ? 1.0 : 0.0};
    });
    return f.at(0);
  };
  EXPECT_EQ(refused(6), 0);
  EXPECT_EQ(refused(10), 1);
}

// A failure every ten steps, ten million of them in a run.
TEST(CampaignNumbers, MoreThanABillionFailuresAreRefused) {
  const auto f = in_child([] {
    const double step = forecast(numbered({})).step_time.value();
    Scenario s = numbered({"stalls.failures={device_mtbf: 1h, restart: 0s}",
                           "stalls.checkpoint={every_steps: 1, blocking_time: 0s}",
                           "campaign={steps: 100000000, runs: 140}"});
    s.stalls.failures->device_mtbf = Seconds{16 * 10 * step};
    return std::vector<double>{said(s) == "campaign.runs" ? 1.0 : 0.0};
  });
  EXPECT_EQ(f.at(0), 1);
}

// ---- the whole number of steps between checkpoints that is best
TEST(Reliability, TheOptimumIsTheBestNumberOfSteps) {
  for (const double checkpoint : {1.0, 3.0, 7.0, 20.0, 45.0}) {
    Scenario s;
    s.cluster.devices = 8;
    s.stalls.checkpoint = StallsSpec::Checkpoint{1000, Seconds{checkpoint}};
    s.stalls.failures = StallsSpec::Failures{Seconds{8 * 3600}, Seconds{60}};
    Timeline timeline;
    timeline.step_time = Seconds{40};
    timeline.steps = {timeline.step_time};
    const auto r = reliability(s, timeline);
    const FailureModel model{Seconds{checkpoint}, Seconds{60}, Seconds{3600}};
    std::int64_t best = 1;
    for (std::int64_t k = 2; k < 100; ++k)
      if (goodput(model, Seconds{40.0 * static_cast<double>(k)}) >
          goodput(model, Seconds{40.0 * static_cast<double>(best)}))
        best = k;
    EXPECT_EQ(*r->optimal_every_steps, best) << checkpoint;
  }
}

}  // namespace
}  // namespace stepcast
