#include "stepcast/sim/kernels/components.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

SearchPath presets() { return {{std::string(STEPCAST_SOURCE_DIR) + "/scenarios"}}; }

std::string sources(const std::string& file, const std::string& cluster = "clusters/ideal.yaml",
                    const std::string& use = "foreign") {
  return "stepcast: 1\ncluster: " + cluster + "\ntables:\n  - {file: " + file +
         ", source: s, commit: c, licence: l, measured: m, doubts: d, use: " + use + "}\n";
}

const std::string header = "kind,m_or_bytes,k,n,type,median_us,exclude\n";

ComponentLedger measured(const test::TemporaryFiles& files) {
  return measure_components(files.path("m"), presets());
}

std::string refused(const test::TemporaryFiles& files) {
  try {
    measured(files);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A product of 1000 cubed takes 2 us on the ideal cluster, one of 2000 x 1000 x 1000 takes 4.
TEST(Components, ErrorsByClassWithAndWithoutExcludedRows) {
  const test::TemporaryFiles files;
  files.write("m/ideal/sources.yaml", sources("k.csv"));
  files.write("m/ideal/k.csv", header +
                                   "matmul,1000,1000,1000,bf16,2.5,\n"
                                   "matmul,2000,1000,1000,bf16,3.2,\n"
                                   "matmul,2000,1000,1000,bf16,5,\n"
                                   "matmul,2000,1000,1000,bf16,8,measured on zeros\n");
  const ComponentLedger ledger = measured(files);
  const auto groups = component_groups(ledger);
  ASSERT_EQ(groups.size(), 2U) << "no group of all kinds, because there is one kind";
  EXPECT_EQ(groups[0].size, "m < 1024");
  EXPECT_NEAR(groups[0].judged.bias, -0.2, 1e-12);
  EXPECT_EQ(groups[1].size, "m >= 1024");
  EXPECT_EQ(groups[1].judged.rows, 2U);
  EXPECT_NEAR(groups[1].judged.mean, (0.25 + 0.2) / 2, 1e-12);
  EXPECT_NEAR(groups[1].judged.bias, 0.025, 1e-12);
  EXPECT_EQ(groups[1].all.rows, 3U);
  EXPECT_NEAR(groups[1].all.mean, (0.25 + 0.2 + 0.5) / 3, 1e-12);
  EXPECT_NEAR(ledger.overall(), (0.2 + 0.225) / 2, 1e-12);
  EXPECT_NE(components_markdown(ledger).find("| measured on zeros | ideal | matmul |"),
            std::string::npos);
  EXPECT_NEAR(*read_overall(components_markdown(ledger)), ledger.overall(), 5e-5);
}

TEST(Components, TheClockOfAHostHoldsLaunches) {
  const auto forecast = [](const std::string& timed) {
    const test::TemporaryFiles files;
    const std::string cluster = "clusters/atlas-800t-a2.yaml";
    files.write("m/ascend/sources.yaml", sources("k.csv", cluster, "foreign" + timed));
    files.write("m/ascend/k.csv", header + "matmul,2000,1000,1000,bf16,100,\n");
    return measured(files).rows.front().forecast;
  };
  const double alone = forecast(", timed: device");
  EXPECT_DOUBLE_EQ(forecast(""), alone);
  EXPECT_NEAR(forecast(", timed: host") - alone, 5e-6, 1e-12);  // device.launch.matmul
}

TEST(Components, KindsOfAClassAreAlsoPutTogether) {
  const test::TemporaryFiles files;
  files.write("m/ideal/sources.yaml", sources("k.csv", "clusters/ideal.yaml", "fitted"));
  // 6 and 4 MB of traffic: 0.6 and 0.4 us at 10 TB/s
  files.write("m/ideal/k.csv", header +
                                   "residual_add,1000,,1000,bf16,0.5,\n"
                                   "rms_norm,1000,,1000,bf16,0.5,\n"
                                   "rms_norm,2000,,1000,bf16,0.8,\n");
  const auto groups = component_groups(measured(files));
  ASSERT_EQ(groups.size(), 5U);
  EXPECT_EQ(groups[0].kind, "rms_norm");
  EXPECT_EQ(groups[2].kind, "residual_add");
  EXPECT_EQ(groups[3].kind, "all vector");
  EXPECT_EQ(groups[3].size, ">= 1 MB, < 8 MB");
  EXPECT_EQ(groups[3].judged.rows, 2U);
  EXPECT_NEAR(groups[3].judged.mean, 0.2, 1e-12);
  EXPECT_NEAR(groups[3].judged.bias, 0, 1e-12);
  EXPECT_EQ(groups[3].use, MeasurementUse::fitted);
}

TEST(Components, DevicesWithoutAClusterFileAreCounted) {
  const test::TemporaryFiles files;
  files.write("m/new/sources.yaml", sources("k.csv", "none"));
  files.write("m/new/k.csv", header + "matmul,1,1,1,bf16,1,\nmatmul,1,1,1,bf16,1,\n");
  const ComponentLedger ledger = measured(files);
  EXPECT_TRUE(ledger.rows.empty());
  ASSERT_EQ(ledger.left_out.size(), 1U);
  EXPECT_EQ(ledger.left_out[0].rows, 2U);
  EXPECT_EQ(ledger.overall(), 0);
}

TEST(Components, EveryTableHasASourceAndEverySourceATable) {
  const test::TemporaryFiles files;
  EXPECT_NE(refused(files).find("is no folder"), std::string::npos);
  files.write("m/ideal/other.csv", header);
  EXPECT_NE(refused(files).find("holds no measurements"), std::string::npos);
  files.write("m/ideal/sources.yaml", sources("k.csv"));
  const std::string wrong = refused(files);
  EXPECT_NE(wrong.find("other.csv: has no source"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("tables: name 'k.csv', allowed: the CSV files"), std::string::npos) << wrong;
}

TEST(Components, AMeasurementIsATimeAboveZero) {
  const test::TemporaryFiles files;
  files.write("m/ideal/sources.yaml", sources("k.csv"));
  files.write("m/ideal/k.csv", header + "matmul,1,1,1,bf16,0,\nmatmul,1,1,1,bf16,soon,\n");
  const std::string wrong = refused(files);
  EXPECT_NE(wrong.find("k.csv:2: median_us: is '0', allowed: a time above 0"), std::string::npos);
  EXPECT_NE(wrong.find("k.csv:3: median_us: is 'soon'"), std::string::npos);
  files.write("m/ideal/k.csv", "kind,m_or_bytes,k,n,type\n");
  EXPECT_NE(refused(files).find("k.csv:1: median_us: is missing"), std::string::npos);
}

TEST(Components, TheMeasurementsOfTheProjectRead) {
  const ComponentLedger ledger =
      measure_components(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/measurements", presets());
  EXPECT_GT(ledger.rows.size(), 2500U);
  for (const MeasuredComponent& row : ledger.rows) EXPECT_GT(row.forecast, 0) << row.table;
}

}  // namespace
}  // namespace stepcast
