#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

fs::path root() { return fs::path(STEPCAST_SOURCE_DIR) / "scenarios"; }

/// Every runnable scenario that is shipped.
std::vector<std::string> scenarios() {
  std::vector<std::string> found;
  for (const char* folder : {"", "what-if", "bench"}) {
    for (const auto& entry : fs::directory_iterator(root() / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      found.push_back(fs::relative(entry.path(), root()).string());
    }
  }
  std::ranges::sort(found);
  return found;
}

class Presets : public ::testing::TestWithParam<std::string> {};

TEST_P(Presets, PartsAddUpToTheStepTime) {
  const Scenario scenario =
      prepare_scenario((root() / GetParam()).string(), {}, default_search_path({}));
  EXPECT_FALSE(scenario.question.empty());
  const Forecast f = forecast(scenario);
  const double step = f.step_time.value();
  ASSERT_GT(step, 0);
  EXPECT_NEAR(f.mean.total().value(), step, 1e-9 * step);
  for (const StageForecast& stage : f.stages) {
    EXPECT_NEAR(stage.times.total().value(), step, 1e-9 * step);
    EXPECT_GE(stage.times.communication.value(), stage.times.exposed_total().value() * (1 - 1e-9));
    EXPECT_GE(stage.times.host_stall, Seconds{0});
  }
  EXPECT_FALSE(report_json(scenario, f, {}).empty());
  EXPECT_FALSE(verdict(f).empty());
}

std::string test_name(const ::testing::TestParamInfo<std::string>& scenario) {
  std::string name = fs::path(scenario.param).stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shipped, Presets, ::testing::ValuesIn(scenarios()), test_name);

}  // namespace
}  // namespace stepcast
