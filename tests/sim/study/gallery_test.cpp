#include "stepcast/sim/study/gallery.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "stepcast/base/errors.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

Technique published(double gain, double forecast) {
  Technique row;
  row.source = "source";
  row.kind = "kind";
  row.gain = gain;
  row.forecast = forecast;
  return row;
}

Verdict verdict(const Technique& row) { return verdict_of(row, row.forecast); }

TEST(Gallery, NearIsAPartOfTheGainOrAPointOfTheStep) {
  EXPECT_EQ(verdict(published(2, 2.15)), Verdict::within);
  EXPECT_EQ(verdict(published(2, 2.16)), Verdict::direction);
  EXPECT_EQ(verdict(published(2, 1.84)), Verdict::direction);
  EXPECT_EQ(verdict(published(1.04, 1.0507)), Verdict::within);     // 1 / g is 0.0098 away
  EXPECT_EQ(verdict(published(1.04, 1.0517)), Verdict::direction);  // 0.0107
  EXPECT_EQ(verdict(published(1.04, 0.95)), Verdict::wrong);
  EXPECT_EQ(verdict(published(0.9, 0.98)), Verdict::direction);
  EXPECT_EQ(verdict(published(0.9, 1.02)), Verdict::wrong);
  EXPECT_EQ(verdict(published(1.04, 1 + 2e-15)), Verdict::wrong);  // steps that are alike
  EXPECT_EQ(verdict(published(0, 1.5)), Verdict::unpublished);
}

TEST(Gallery, RangesHoldTheForecastAndBoundsAreUpperOnes) {
  Technique range = published(0, 1.25);
  range.at_least = 1.2;
  range.at_most = 1.3;
  EXPECT_EQ(verdict(range), Verdict::within);
  EXPECT_FALSE(gain_error(range));
  range.forecast = 1.31;
  EXPECT_EQ(verdict(range), Verdict::direction);
  EXPECT_NEAR(*gain_error(range), 0.31 / 0.3 - 1, 1e-12);
  range.forecast = 1.1;
  EXPECT_NEAR(*gain_error(range), 0.1 / 0.2 - 1, 1e-12);
  Technique bound = published(0, 1.01);
  bound.at_most = 1.1;
  EXPECT_EQ(verdict(bound), Verdict::within);
  EXPECT_FALSE(gain_error(bound));
  bound.forecast = 1.2;
  EXPECT_EQ(verdict(bound), Verdict::direction);
  bound.forecast = 0.99;
  EXPECT_EQ(verdict(bound), Verdict::wrong);
}

TEST(Gallery, AVerdictThatChangesBetweenTheEndsIsAssumed) {
  Technique row = published(1.5, 1.5);
  row.assumptions.push_back({"a", {"k=1"}, {"k=2"}, 1.45, 1.55});
  EXPECT_FALSE(is_assumed(row));
  row.assumptions.push_back({"b", {"k=1"}, {"k=2"}, 1.5, 1.2});
  EXPECT_TRUE(is_assumed(row));
}

TEST(Gallery, RowsCountAsOftenAsTheirSourceAndKindAllow) {
  Gallery gallery;
  for (int i = 0; i < 5; ++i) gallery.techniques.push_back(published(1.5, 1.5));
  EXPECT_EQ(figures(gallery).counted, 3U);
  for (std::size_t i = 0; i < 5; ++i) gallery.techniques[i].kind += std::to_string(i);
  EXPECT_EQ(figures(gallery).counted, 4U);
  for (std::size_t i = 0; i < 5; ++i) gallery.techniques[i].source += std::to_string(i);
  EXPECT_EQ(figures(gallery).counted, 5U);
  gallery.techniques[0].apart = "known before";
  gallery.techniques[1].gain = gallery.techniques[1].forecast = 1.02;
  gallery.techniques[2].gain = 0;
  gallery.techniques[2].at_most = 2;
  gallery.techniques[3].forecast = 0.9;
  const GalleryFigures f = figures(gallery);
  EXPECT_EQ(f.counted, 1U);
  EXPECT_EQ(f.rows, 5U);
  EXPECT_EQ(f.within, 4U);
  EXPECT_EQ(f.wrong, 1U);
}

TEST(Gallery, NoMoreThanSixAssumedRowsCount) {
  Gallery gallery;
  for (int i = 0; i < 8; ++i) {
    Technique row = published(1.5, 1.5);
    row.source += std::to_string(i);
    row.kind += std::to_string(i);
    row.assumptions.push_back({"a", {"k=1"}, {"k=2"}, 1.1, 1.5});
    gallery.techniques.push_back(row);
  }
  EXPECT_EQ(figures(gallery).counted, 6U);
  EXPECT_EQ(figures(gallery).assumed, 8U);
}

TEST(Gallery, ThePageIsFoundAgainAndSaysWhatWasAssumed) {
  Gallery gallery;
  gallery.sources = {{"source", "A paper"}};
  gallery.techniques = {published(1.5, 1.4)};
  gallery.techniques[0].name = "a technique";
  gallery.techniques[0].where = "table 1";
  gallery.techniques[0].assumptions.push_back({"batch", {"k=1"}, {"k=2"}, 1.3, 1.5});
  gallery.systems = {{"other", "no step"}};
  const std::string page = gallery_markdown(gallery);
  EXPECT_EQ(read_counted(page), 0);
  EXPECT_NE(page.find("| a technique (table 1) | 1.500 | 1.400 | -20 % | direction, assumed | "
                      "batch: 1.300 and 1.500 (k=1; k=2) |"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("| other | no step |"), std::string::npos);
  EXPECT_FALSE(read_counted("a page"));
}

constexpr const char* scenario = R"(stepcast: 1
name: small
cluster: {extends: clusters/ideal.yaml, devices: 2}
workload: {chunks: [{forward: 1ms, backward_input: 1ms, backward_weight: 1ms}], boundary: 0B}
parallel: {pp: 2}
training: {global_batch: 4}
schedule: {pipeline: gpipe}
)";

TEST(Gallery, WhatSeveralKeysGetWrongIsReportedWithItsPlace) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write("gallery.yaml", R"(stepcast: 1
sources: [{key: s, name: a source}]
techniques:
  - {name: n, source: t, kind: k, where: w, baseline: a.yaml, technique: a.yaml, gain: 2, at_most: 3}
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: b.yaml, at_least: 3, at_most: 2, experts: true, less: [name=x]}
)");
  try {
    read_gallery(path, {});
    FAIL();
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.text() + "\n";
    for (const char* part :
         {"techniques.0.source: is 't', allowed: the key of one of the sources",
          "techniques.0.gain: stands beside a range", "techniques.0.technique: is the baseline",
          "techniques.1.technique: names 'b.yaml', which does not exist",
          "techniques.1.at_least: has no higher at_most",
          "techniques.1.less: stands beside experts"})
      EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

TEST(Gallery, ComparesExpertsOnlyWhereThereAreSome) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write("gallery.yaml", R"(stepcast: 1
sources: [{key: s, name: a source}]
techniques:
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: a.yaml, set: [name=x], gain: 2, experts: true}
)");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    measure_gallery(folder, default_search_path({}), 1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("model.moe: is missing"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stepcast
