#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/in_child.hpp"
#include "sim/replay/recorded_scenarios.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "stepcast/sim/scenario/resolved_scenario.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::json;

Json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(ResolvedScenario, ReadsBackAsTheSame) {
  const test::TemporaryFiles files;
  const auto round_trip = [&](const Scenario& scenario) {
    const std::string text = resolved_yaml(scenario);
    const std::string file = files.write("resolved.yaml", text);
    EXPECT_EQ(prepare_scenario(file, {}, default_search_path({})).sha256, scenario.sha256)
        << scenario.name;
  };
  for (const auto& c : testing::recorded_cases()) round_trip(testing::scenario_of(c));
  const std::string folder = std::string(STEPCAST_SOURCE_DIR) + "/scenarios";
  for (const char* below : {"", "/what-if"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + below)) {
      if (entry.path().extension() != ".yaml") continue;
      round_trip(prepare_scenario(entry.path().string(), {}, default_search_path({})));
    }
  }
}

TEST(ReportPage, HoldsTheRun) {
  const auto result = testing::in_child([] {
    const Scenario scenario = testing::scenario_of(
        {"telechat3-36b-2048.yaml",
         {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"}});
    const RecordedRun run = record(scenario);
    const Json data = data_of(report_page(scenario, run));
    EXPECT_EQ(data["stages"].size(), 3U);  // the mean and two stages
    EXPECT_EQ(data["timeline"]["rows"].size(), 2U);
    double units = 0;
    for (const Json& row : data["timeline"]["rows"])
      units += static_cast<double>(row["units"].size());
    EXPECT_GE(units, 5.0 * 2 * 2 * 2 * 8);
    EXPECT_FALSE(data["links"].empty());
    return std::vector<double>{data["step_time"].get<double>(), run.forecast.step_time.value(),
                               data["path"]["total"].get<double>(),
                               run.forecast.fleet->flawless.value()};
  });
  ASSERT_EQ(result.size(), 4U);
  EXPECT_EQ(result[0], result[1]);
  // The path is that of equal devices.
  EXPECT_NEAR(result[2], result[3], 1e-9 * result[3]);
}

TEST(SweepPage, HoldsThePoints) {
  PageTable table;
  table.name = "scaling </script>";
  table.columns = {"values",      "devices",           "tokens_per_s",
                   "step_time_s", "peak_memory_bytes", "memory_capacity_bytes"};
  table.rows = {{"a", 8.0, 100.0, 2.0, 1e9, 6e10},
                {"b", 16.0, 150.0, 1.5, 2e9, 6e10},
                {"c", 16.0, 190.0, 1.2, 3e9, 6e10},
                {"</script>", 32.0, std::monostate{}, std::monostate{}, std::monostate{}, 6e10}};
  const Json data = data_of(sweep_page(table));
  ASSERT_EQ(data["scaling"].size(), 2U);
  EXPECT_EQ(data["scaling"][1]["throughput"], 190.0);  // the best of 16 devices
  EXPECT_EQ(data["pareto"].size(), 3U);
  EXPECT_EQ(data["rows"].size(), 4U);
  EXPECT_EQ(data["rows"][3][0], "</script>");
  EXPECT_TRUE(data["rows"][3][2].is_null());
}

}  // namespace
}  // namespace stepcast
