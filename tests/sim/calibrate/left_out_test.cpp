#include "stepcast/sim/calibrate/left_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepcast/sim/scenario/scenario.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

SearchPath shipped() { return {{std::string(STEPCAST_SOURCE_DIR) + "/scenarios"}}; }

constexpr int models = 3, rows_of_model = 4;

/// Products of three models on an A100 with other numbers than its preset has, in the times that
/// these give; those of one model may take `factor` times as long, or be excluded.
std::string products(double factor, const std::string& exclude = "") {
  ClusterSpec cluster = read_cluster("clusters/dgx-a100.yaml", {}, shipped());
  cluster.device.efficiency.matmul.peak = 0.6;
  cluster.device.efficiency.matmul.memory = 0.5;
  cluster.device.efficiency.matmul.ramp = Seconds{9e-6};
  const OperatorForecaster forecaster{cluster};
  std::string text = "model,kind,m_or_bytes,k,n,type,median_us,exclude\n";
  for (int model = 0; model < models; ++model)
    for (int row = 0; row < rows_of_model; ++row) {
      OperatorRequest request;
      request.kind = find_operator_kind("matmul");
      const double m = 1024 * (1 << row), k = 1024 * (model + 1), n = 2048 + 1024 * model;
      request.shape = {.m = m, .k = k, .n = n, .type = ElementType::fp16};
      const double us = 1e6 * forecaster.time(request).value() * (model == 2 ? factor : 1);
      text += "model-" + std::to_string(model) + ",matmul," + std::to_string(int(m)) + "," +
              std::to_string(int(k)) + "," + std::to_string(int(n)) + ",fp16," +
              std::to_string(us) + "," + (model == 2 ? exclude : "") + "\n";
    }
  return text;
}

std::vector<LeftOutFigures> left_out_of(const std::string& table, const std::string& use) {
  const test::TemporaryFiles files;
  files.write("m/a100/sources.yaml",
              "stepcast: 1\ncluster: clusters/dgx-a100.yaml\ntables:\n  - {file: k.csv, source: s, "
              "commit: c, licence: l, measured: m, doubts: d, use: " +
                  use + "}\n");
  files.write("m/a100/k.csv", table);
  return leave_out(files.path("m"), shipped());
}

TEST(LeftOut, ForecastsAModelThatFollowsTheSameNumbersFromTheOthers) {
  const auto all = left_out_of(products(1), "fitted");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].left_out, "a model");
  EXPECT_EQ(all[0].unseen.rows, std::size_t{models * rows_of_model});
  EXPECT_GT(all[0].preset.mean, 0.1) << "the preset has other numbers";
  EXPECT_LT(all[0].unseen.mean, 0.01) << "which the fit finds from the other models";
  EXPECT_NEAR(overall(all), all[0].unseen.mean, 1e-12);
}

/// The model that takes 1.5 times as long is forecast a third too short by the two others; a fit
/// that saw it would be nearer.
TEST(LeftOut, NoFitSeesTheRowsThatItForecasts) {
  const auto all = left_out_of(products(1.5), "fitted");
  EXPECT_GT(all.at(0).unseen.worst, 0.33 - 0.02);
  EXPECT_GT(all.at(0).unseen.mean, all.at(0).fitted.mean);
}

TEST(LeftOut, ExcludedRowsAreForecastAndInNoFit) {
  const auto all = left_out_of(products(1.5, "measured on zeros"), "fitted");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].unseen.rows, 8U);
  EXPECT_LT(all[0].unseen.mean, 0.01);
  EXPECT_EQ(all[0].unseen_with_excluded.rows, 12U);
  EXPECT_NEAR(all[0].unseen_with_excluded.mean, (8 * all[0].unseen.mean + 4.0 / 3) / 12, 0.01);
}

TEST(LeftOut, SmallAndForeignTablesAreNotFittedAgain) {
  const std::string table = products(1);
  std::string small = table.substr(0, table.find("model-1"));
  EXPECT_EQ(left_out_of(small, "fitted").at(0).left_out, "goodness of fit");
  EXPECT_FALSE(left_out_of(small, "fitted").at(0).refitted());
  EXPECT_EQ(left_out_of(table, "foreign").at(0).left_out, "foreign");
}

TEST(LeftOut, ThePageKeepsItsFigure) {
  const auto all = left_out_of(products(1.5), "fitted");
  EXPECT_NEAR(read_left_out(left_out_markdown(all)).value(), overall(all), 5e-5);
  EXPECT_FALSE(read_left_out("no such figure"));
}

}  // namespace
}  // namespace stepcast
