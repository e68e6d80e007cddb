#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "stepcast/base/csv.hpp"
#include "stepcast/sim/sweep/scaling.hpp"
#include "temporary_files.hpp"

/// Published sizes beside a curve.
namespace stepcast {
namespace {

constexpr const char* published_row = R"(stepcast: 1
cluster: {extends: clusters/dgx-a100.yaml, devices: 8}
model: {extends: models/llama2-7b.yaml, layers: 4}
parallel: {dp: auto}
training: {sequence: 512, global_batch: 64, micro_batch: 1}
)";

/// A folder of presets with one row and these lines of curves.
SearchPath with_curves(const test::TemporaryFiles& files, const std::string& lines) {
  files.write("validation/row.yaml", published_row);
  files.write("validation/curves.csv", "# a comment\n" + lines);
  SearchPath search = default_search_path({});
  search.directories.insert(search.directories.begin(), files.path(""));
  return search;
}

PointTable sized(const std::vector<std::pair<double, double>>& sizes) {
  PointTable table;
  for (const auto& [devices, efficiency] : sizes) {
    PointResult& point = table.rows.emplace_back();
    point.numbers.resize(number_names().size());
    point.numbers[number_place("devices")] = devices;
    table.efficiency.emplace_back(efficiency);
  }
  return table;
}

TEST(PublishedCurves, MeetTheForecastAtTheirFirstSize) {
  const test::TemporaryFiles files;
  const SearchPath search = with_curves(files,
                                        "one,weak,4,200,row.yaml,Somebody\n"  // below the curve
                                        "one,weak,16,100,row.yaml,Somebody\n"
                                        "one,weak,32,80,row.yaml,Somebody\n"
                                        "one,weak,64,50,row.yaml,Somebody\n"
                                        "two,strong,8,1,row.yaml,Nobody\n"
                                        "two,strong,32,1,row.yaml,Nobody\n"
                                        "three,weak,32,1,row.yaml,Nobody\n");  // one size
  const ScenarioDocument base = load_scenario(files.path("validation/row.yaml"), {}, search);
  const PointTable table = sized({{8, 1}, {32, 0.8}});
  const auto curves = published_curves(devices_sweep(base, {8, 32}, true, search), table, search);
  ASSERT_EQ(curves.size(), 1);
  EXPECT_EQ(curves[0].name, "one");
  EXPECT_EQ(curves[0].source, "Somebody");
  EXPECT_TRUE(curves[0].same_plan);
  ASSERT_EQ(curves[0].points.size(), 2);
  // Sixteen is half way from 8 to 32.
  EXPECT_DOUBLE_EQ(curves[0].points[0].efficiency, 0.9);
  EXPECT_DOUBLE_EQ(curves[0].points[0].forecast, 0.9);
  EXPECT_EQ(curves[0].points[1].devices, 32);
  EXPECT_DOUBLE_EQ(curves[0].points[1].efficiency, 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(curves[0].points[1].forecast, 0.8);
  const auto strong = published_curves(devices_sweep(base, {8, 32}, false, search), table, search);
  ASSERT_EQ(strong.size(), 1);
  EXPECT_EQ(strong[0].name, "two");
}

TEST(PublishedCurves, AreThoseOfTheModelAndTheDevice) {
  const test::TemporaryFiles files;
  const SearchPath search = with_curves(files,
                                        "one,weak,8,100,row.yaml,Somebody\n"
                                        "one,weak,32,80,row.yaml,Somebody\n");
  const auto of = [&](const std::vector<std::string>& overrides) {
    const ScenarioDocument base =
        load_scenario(files.path("validation/row.yaml"), overrides, search);
    return published_curves(devices_sweep(base, {8, 32}, true, search), sized({{8, 1}, {32, 0.8}}),
                            search);
  };
  const auto other = of(
      {"model.name=other", "cluster.device.name=other", "training.micro_batch=2", "parallel.tp=2"});
  ASSERT_EQ(other.size(), 1);
  EXPECT_FALSE(other[0].same_plan);
  EXPECT_TRUE(of({"model.layers=8"}).empty());
  EXPECT_TRUE(of({"model.vocabulary=100000"}).empty());
  EXPECT_TRUE(of({"cluster.device.memory.bandwidth=3TB/s"}).empty());
}

TEST(PublishedCurves, RefuseALineThatIsNone) {
  const test::TemporaryFiles files;
  const SearchPath search = with_curves(files, "one,weak,8,fast,row.yaml,Somebody\n");
  const ScenarioDocument base = load_scenario(files.path("validation/row.yaml"), {}, search);
  try {
    published_curves(devices_sweep(base, {8, 32}, true, search), sized({{8, 1}, {32, 0.8}}),
                     search);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("curves.csv:2:1: is not curve,"), std::string::npos)
        << error.what();
  }
}

TEST(PublishedCurves, StandInJson) {
  PointTable table;
  table.published = {{"one", "Somebody", true, {{8, 1, 1}, {32, 0.8, 0.7}}}};
  const auto curves = nlohmann::json::parse(points_json("s", table))["published"];
  ASSERT_EQ(curves.size(), 1);
  EXPECT_EQ(curves[0]["curve"], "one");
  EXPECT_EQ(curves[0]["source"], "Somebody");
  EXPECT_EQ(curves[0]["same_plan"], true);
  EXPECT_EQ(curves[0]["points"][1],
            (nlohmann::json{{"devices", 32}, {"efficiency", 0.8}, {"forecast", 0.7}}));
  EXPECT_FALSE(nlohmann::json::parse(points_json("s", PointTable{})).contains("published"));
}

/// The shipped rates are those of the rows that they name.
TEST(PublishedCurves, AreRowsOfTheLedger) {
  const auto folder = std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios" / "validation";
  std::stringstream text;
  text << std::ifstream(folder / "curves.csv").rdbuf();
  const SearchPath search = default_search_path({});
  for (const CsvRecord& record : parse_csv(text.str(), "curves.csv")) {
    if (record.cells[0].starts_with('#')) continue;
    const Scenario of = read_scenario((folder / record.cells[4]).string(), {}, search);
    const double devices = std::stod(record.cells[2]), rate = std::stod(record.cells[3]);
    EXPECT_EQ(static_cast<double>(of.cluster.devices), devices) << record.cells[4];
    if (!of.expect || !of.expect->step_time) continue;  // known by its ratio alone
    const TrainingSpec& training = of.workload.training;
    const double tokens = static_cast<double>(training.global_batch * training.sequence);
    EXPECT_NEAR(tokens / of.expect->step_time->value / devices / rate, 1, 1e-3) << record.cells[4];
  }
}

}  // namespace
}  // namespace stepcast
