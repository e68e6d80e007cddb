#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

Forecast of(const RankTimes& times) {
  Forecast forecast;
  forecast.mean = times;
  forecast.step_time = times.total();
  return forecast;
}

TEST(Verdict, NamesFirstTheLargePartThenItsKind) {
  RankTimes times;
  times.computing = Seconds{39};
  times.exposed[static_cast<std::size_t>(ExposedKind::expert)] = Seconds{35};
  times.exposed[static_cast<std::size_t>(ExposedKind::data)] = Seconds{15};
  times.bubble = Seconds{11};
  EXPECT_EQ(verdict(of(times)),
            "Half of the step is exposed communication (50 %), most of it expert exchanges (35 %). "
            "Next comes computing (39 %).");
  times.exposed = {};
  EXPECT_EQ(verdict(of(times)),
            "Most of the step is computing (78 %). Next comes pipeline bubble (22 %).");
  times.host_stall = Seconds{30};
  times.compile_stall = Seconds{90};
  EXPECT_EQ(verdict(of(times)),
            "Most of the step is waiting for the host (71 %), most of it compiling (53 %). Next "
            "comes computing (23 %).");
}

TEST(Verdict, NamesTheLargestOfAnySplit) {
  EXPECT_TRUE(rc::check("the largest part comes first", [] {
    const auto part = [] { return static_cast<double>(*rc::gen::inRange(0, 1000)) / 10; };
    RankTimes times;
    times.computing = Seconds{part()};
    for (Seconds& kind : times.exposed) kind = Seconds{part() / 4};
    times.bubble = Seconds{part()};
    times.host_stall = Seconds{part()};
    times.compile_stall = Seconds{*rc::gen::element(0.0, part())};
    times.other_idle = Seconds{part() / 10};
    RC_PRE(times.total() > Seconds{0});
    const std::pair<double, const char*> parts[] = {
        {times.computing.value(), "is computing ("},
        {times.exposed_total().value(), "is exposed communication ("},
        {times.bubble.value(), "is pipeline bubble ("},
        {(times.host_stall + times.compile_stall).value(), "is waiting for the host ("},
        {times.other_idle.value(), "is other idle time ("}};
    const double largest = std::ranges::max(parts, {}, [](const auto& p) { return p.first; }).first;
    const std::string text = verdict(of(times));
    RC_ASSERT(std::ranges::any_of(parts, [&](const auto& p) {
      return p.first == largest && text.find(p.second) != std::string::npos;
    }));
  }));
}

TEST(Rates, HaveThousandsAndMillions) {
  EXPECT_EQ(rate_text(1.093e6), "1.093 M");
  EXPECT_EQ(rate_text(12345), "12.35 k");
  EXPECT_EQ(rate_text(533.64), "533.6");
}

// The record of the judge stands under every table; a run on SimGrid says so instead.
TEST(ReportTable, EndsWithWhoSharedTheLinksAndHowFarTheJudgeIs) {
  const auto last_line = [](const std::string& file, const std::vector<std::string>& changes) {
    const Scenario scenario = prepare_scenario(
        std::string(STEPCAST_SOURCE_DIR) + "/scenarios/" + file, changes, default_search_path({}));
    std::string table = report_table(scenario, forecast(scenario), std::nullopt);
    table.pop_back();
    return table.substr(table.rfind('\n') + 1);
  };
  EXPECT_THAT(last_line("telechat3-36b-2048.yaml", {}),
              ::testing::StartsWith("  Links shared by our own solver; SimGrid 3."));
  EXPECT_THAT(last_line("llama2-7b-8.yaml", {}),
              ::testing::StartsWith("  No transfers met on a link; SimGrid 3."));
  EXPECT_THAT(last_line("llama2-7b-8.yaml", {"simulate.engine=simgrid", "training.global_batch=8"}),
              ::testing::StartsWith("  All of the step ran on SimGrid 3."));
}

}  // namespace
}  // namespace stepcast
