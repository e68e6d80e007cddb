#include "stepcast/sim/forecast/campaign.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/goodput.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

constexpr double hour = 3600;

double parts(const CampaignRun& r) {
  return (r.computing + r.saving + r.writing + r.lost + r.restarting + r.waiting + r.stopped)
      .value();
}

CampaignModel ten_thousand_steps() {
  CampaignModel m;
  m.steps = 10'000;
  m.every_steps = 100;
  m.checkpoint = Seconds{30};
  m.restart = Seconds{900};
  m.mtbf = Seconds{6 * hour};
  return m;
}

TEST(Campaign, WithoutFailuresIsItsStepsAndCheckpoints) {
  CampaignModel m = ten_thousand_steps();
  m.mtbf = Seconds{1e15};
  const CampaignRun run = play_campaign(m, {.step = Seconds{5}}, 1, 0);
  EXPECT_EQ(run.failures, 0);
  EXPECT_DOUBLE_EQ(run.wall.value(), 10'000 * 5 + 100 * 30);
  m.every_steps = 300;  // a last checkpoint after the last hundred steps
  EXPECT_DOUBLE_EQ(play_campaign(m, {.step = Seconds{5}}, 1, 0).saving.value(), 34 * 30);
}

// The complete model of Daly 2006 is the mean of these runs where nobody waits for a node.
TEST(Campaign, HasTheMeanOfTheClosedForm) {
  CampaignModel m = ten_thousand_steps();
  for (const double mtbf : {1.0, 6.0, 48.0}) {
    m.mtbf = Seconds{mtbf * hour};
    constexpr std::uint32_t runs = 400;
    double sum = 0, squares = 0;
    for (std::uint32_t r = 0; r < runs; ++r) {
      const double wall = play_campaign(m, {.step = Seconds{5}}, 3, r).wall.value();
      sum += wall;
      squares += wall * wall;
    }
    const double mean = sum / runs, error = std::sqrt((squares / runs - mean * mean) / runs);
    const double closed = 10'000 * 5 / goodput({m.checkpoint, m.restart, m.mtbf}, Seconds{500});
    EXPECT_NEAR(mean, closed, 4 * error) << mtbf;
  }
}

TEST(Campaign, PartsAddUpAndNothingIsNegative) {
  EXPECT_TRUE(rc::check([] {
    const auto real = [](double low, double high) {
      return low * std::pow(high / low, *rc::gen::inRange(0, 1001) / 1e3);
    };
    CampaignModel m;
    m.steps = *rc::gen::inRange(1, 5000);
    m.every_steps = *rc::gen::inRange(1, 1000);
    m.checkpoint = Seconds{real(0.01, 60)};
    m.writing = Seconds{real(0.01, 10)};
    m.restart = Seconds{real(1, 1000)};
    m.mtbf = Seconds{real(2000, 1e6)};
    m.hardware_share = *rc::gen::inRange(0, 11) / 10.0;
    m.spares = *rc::gen::inRange(0, 5);
    m.repair = Seconds{real(1, 1e5)};
    if (*rc::gen::arbitrary<bool>()) {
      m.flap_distance = Seconds{real(10, 1e5)};
      m.flap = Seconds{real(0.1, 30)};
    }
    CampaignPace pace{.step = Seconds{real(0.01, 5)}};
    if (*rc::gen::arbitrary<bool>()) {
      pace.slow_nodes = *rc::gen::inRange(1, 4);
      pace.without_slow = pace.step * 0.9;
    }
    m.every_steps = std::min<std::int64_t>(
        m.every_steps, 1 + static_cast<std::int64_t>(m.mtbf.value() / pace.step.value()));
    const CampaignRun run = play_campaign(m, pace, 5, *rc::gen::inRange<std::uint32_t>(0, 100));
    RC_ASSERT(std::abs(parts(run) - run.wall.value()) <= 1e-9 * run.wall.value());
    for (const Seconds part :
         {run.computing, run.saving, run.lost, run.restarting, run.waiting, run.stopped})
      RC_ASSERT(part >= Seconds{0});
    const double steps = static_cast<double>(m.steps);
    RC_ASSERT(run.computing.value() <= steps * pace.step.value() * (1 + 1e-12));
    const double least = pace.without_slow.value_or(pace.step).value();
    RC_ASSERT(run.computing.value() >= steps * least * (1 - 1e-12));
    if (run.failures == 0) RC_ASSERT(run.lost + run.restarting + run.waiting == Seconds{0});
  }));
}

// Flaps come at exponential distances of work, and each of them lengthens it by as much.
TEST(Campaign, FlapsLengthenTheWorkByWhatTheyLast) {
  CampaignModel m = ten_thousand_steps();
  m.mtbf = Seconds{1e15};
  m.flap_distance = Seconds{600};
  m.flap = Seconds{9};
  constexpr std::uint32_t runs = 400;
  const double work = 10'000 * 5 + 100 * 30;
  double sum = 0, squares = 0;
  for (std::uint32_t r = 0; r < runs; ++r) {
    const CampaignRun run = play_campaign(m, {.step = Seconds{5}}, 3, r);
    EXPECT_DOUBLE_EQ(run.stopped.value(), 9.0 * static_cast<double>(run.flaps));
    EXPECT_EQ((run.lost + run.restarting).value(), 0);
    sum += run.wall.value();
    squares += run.wall.value() * run.wall.value();
  }
  const double mean = sum / runs, error = std::sqrt((squares / runs - mean * mean) / runs);
  EXPECT_NEAR(mean, work * (1 + 9.0 / 600), 4 * error);
}

// A flap is no failure: what was done since the last checkpoint is kept, so that the same failures
// lose nothing more to it than the time in which nothing was done.
TEST(Campaign, FlapsLoseNoWork) {
  CampaignModel m = ten_thousand_steps();
  m.every_steps = m.steps;
  m.mtbf = Seconds{1e15};
  m.flap_distance = Seconds{100};
  m.flap = Seconds{50};
  const CampaignRun run = play_campaign(m, {.step = Seconds{5}}, 1, 0);
  ASSERT_GT(run.flaps, 100);
  EXPECT_EQ(run.failures, 0);
  EXPECT_DOUBLE_EQ(run.computing.value(), 50'000);
}

// One of two nodes is away for a day after every failure: with one spare the next failure waits.
TEST(Campaign, WaitsWhereAllSparesAreAway) {
  CampaignModel m = ten_thousand_steps();
  m.hardware_share = 1;
  m.repair = Seconds{24 * hour};
  const auto waited = [&](std::int64_t spares) {
    m.spares = spares;
    double sum = 0;
    for (std::uint32_t r = 0; r < 50; ++r)
      sum += play_campaign(m, {.step = Seconds{5}}, 1, r).waiting.value();
    return sum;
  };
  EXPECT_GT(waited(0), waited(1));
  EXPECT_GT(waited(1), waited(4));
  EXPECT_EQ(waited(100), 0);
  // Without a spare every failure waits for its own repair.
  m.spares = 0;
  const CampaignRun run = play_campaign(m, {.step = Seconds{5}}, 1, 7);
  EXPECT_DOUBLE_EQ(run.waiting.value(), 24 * hour * static_cast<double>(run.failures));
}

TEST(Campaign, SlowNodesLeaveAtTheFirstRestartThatHasSparesForThem) {
  CampaignModel m = ten_thousand_steps();
  m.repair = Seconds{1e12};
  const CampaignPace pace{Seconds{5}, Seconds{4}, 2};
  m.spares = 1;
  EXPECT_DOUBLE_EQ(play_campaign(m, pace, 1, 0).computing.value(), 50'000);
  m.spares = 2;
  const CampaignRun run = play_campaign(m, pace, 1, 0);
  ASSERT_GT(run.failures, 0);
  EXPECT_LT(run.computing.value(), 50'000);
  EXPECT_GT(run.computing.value(), 40'000);
}

Scenario with(const std::vector<std::string>& overrides) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

std::string refusal(const std::vector<std::string>& overrides) {
  try {
    forecast_campaign(with(overrides), 1, 1, {});
  } catch (const InputError& error) {
    return error.diagnostics().at(0).path + ": " + error.diagnostics().at(0).message;
  }
  return "";
}

TEST(Campaign, SaysWhatIsMissing) {
  const std::string failures = "stalls.failures={device_mtbf: 50000h, restart: 15min}";
  EXPECT_TRUE(refusal({failures}).starts_with("campaign: is missing"));
  EXPECT_TRUE(refusal({"campaign={steps: 10}"}).starts_with("stalls.failures: is missing"));
  EXPECT_TRUE(
      refusal({failures, "campaign={spares: 1}"}).starts_with("campaign.steps: is missing"));
  EXPECT_TRUE(refusal({failures, "campaign={steps: 1, tokens: 1}"})
                  .starts_with("campaign.tokens: is given beside campaign.steps"));
  EXPECT_TRUE(refusal({failures, "campaign={steps: 10, evict_slow: true}"})
                  .starts_with("campaign.evict_slow: is true but no node is slow"));
}

TEST(Campaign, ThatNeverFinishesSaysSo) {
  const auto result = testing::in_child([] {
    const std::string said =
        refusal({"stalls.failures={device_mtbf: 1h, restart: 1h}", "campaign={steps: 1000}"});
    return std::vector<double>{
        said.starts_with("campaign: never finishes: the job fails every ") ? 1.0 : 0.0};
  });
  EXPECT_EQ(result.at(0), 1);
}

TEST(Campaign, WithoutItsSlowNodesIsShorter) {
  const auto median = [](const char* evict) {
    return testing::in_child([&] {
             const Scenario s =
                 with({"stalls.failures={device_mtbf: 10h, restart: 10s}",
                       "stalls.checkpoint={every_steps: 50, blocking_time: 100ms}",
                       "stalls.spread={node: {slow_share: 1, slow_factor: 1.5}}",
                       std::string("campaign={steps: 200000, spares: 2, runs: 50, ") +
                           "evict_slow: " + evict + "}"});
             return std::vector<double>{forecast_campaign(s, 1, 1, {}).wall.p50};
           })
        .at(0);
  };
  EXPECT_LT(median("true"), 0.9 * median("false"));
}

TEST(Campaign, OfTokensHasAsManyStepsAsTheyNeedAndItsQuantilesAreInOrder) {
  const auto result = testing::in_child([] {
    const Scenario s = with({"stalls.failures={device_mtbf: 500h, restart: 10s}",
                             "stalls.checkpoint={every_steps: 50, blocking_time: 100ms}",
                             "campaign={tokens: 1e9, runs: 200}"});
    const CampaignForecast c = forecast_campaign(s, 1, 1, Seconds{1e12});
    const double per_step = static_cast<double>(s.workload.training.global_batch) *
                            static_cast<double>(s.workload.training.sequence);
    return std::vector<double>{static_cast<double>(c.steps) - std::ceil(1e9 / per_step),
                               c.wall.p50 - c.wall.p10, c.wall.p90 - c.wall.p50, *c.within,
                               c.reached.back().wall.value() - c.wall.p90};
  });
  EXPECT_EQ(result.at(0), 0);
  EXPECT_GE(result.at(1), 0);
  EXPECT_GE(result.at(2), 0);
  EXPECT_EQ(result.at(3), 1);
  EXPECT_GE(result.at(4), 0);
}

TEST(Campaign, LinksThatDoNothingAreRefused) {
  const std::string failures = "stalls.failures={device_mtbf: 500h, restart: 10s}";
  const std::string traffic = "checkpoint_traffic: {bytes_per_device: 1MB, bandwidth_per_device: ";
  EXPECT_TRUE(refusal({failures, "campaign={steps: 10, " + traffic + "1GB/s}}"})
                  .starts_with("campaign.checkpoint_traffic: is given but no state is saved"));
  EXPECT_TRUE(
      refusal({failures, "stalls.checkpoint={every_steps: 5, blocking_time: 1s}",
               "campaign={steps: 10, " + traffic + "1TB/s}}"})
          .starts_with("campaign.checkpoint_traffic.bandwidth_per_device: is 1.00 TB/s, which"));
}

// Half of every NIC is away while the state is written, which slows what crosses nodes.
TEST(Campaign, WritingSlowsStepsThatUseTheNics) {
  const auto saving = [](const std::string& more) {
    return testing::in_child([&] {
      const Scenario s = with({"stalls.failures={device_mtbf: 5000h, restart: 10s}",
                               "stalls.checkpoint={every_steps: 1000, blocking_time: 1s}",
                               "campaign={steps: 10000, runs: 20" + more + "}"});
      const CampaignForecast c = forecast_campaign(s, 1, 1, {});
      return std::vector<double>{c.mean.writing.value(), c.flaps, c.mean.stopped.value(),
                                 c.mean.saving.value()};
    });
  };
  const std::vector<double> calm = saving("");
  EXPECT_EQ(calm.at(0), 0);
  EXPECT_EQ(calm.at(1), 0);
  const std::vector<double> busy = saving(
      ", checkpoint_traffic: {bytes_per_device: 1GB, bandwidth_per_device: 5GB/s}, "
      "link_flaps: {per_link_hour: 100, duration: 1ms}");
  EXPECT_GT(busy.at(0), 0);
  EXPECT_LT(busy.at(0), 10 * 0.2);
  EXPECT_EQ(busy.at(3), calm.at(3));
  EXPECT_GT(busy.at(1), 0);
  EXPECT_NEAR(busy.at(2), 1e-3 * busy.at(1), 1e-9);
}

// Devices and spare nodes take 200 W whatever they do, and half as much comes on top.
TEST(Campaign, EnergyOfEqualPowersIsPowerTimesTime) {
  const auto result = testing::in_child([] {
    const Scenario s =
        with({"stalls.failures={device_mtbf: 50h, restart: 10s}",
              "stalls.checkpoint={every_steps: 50, blocking_time: 100ms}",
              "campaign={steps: 2000, runs: 20, spares: 1}", "cluster.device.power.idle=200",
              "cluster.device.power.computing=200", "cluster.device.power.communicating=200",
              "cluster.device.power.overhead=1.5"});
    const CampaignForecast c = forecast_campaign(s, 1, 1, {});
    return std::vector<double>{*c.energy, c.mean.wall.value()};
  });
  EXPECT_NEAR(result.at(0), 1.5 * 200 * (16 + 8) * result.at(1), 1e-9 * result.at(0));
}

}  // namespace
}  // namespace stepcast
