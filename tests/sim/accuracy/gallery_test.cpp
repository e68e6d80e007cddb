#include "stepcast/sim/accuracy/gallery.hpp"

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

TEST(Gallery, ANearRowThatHangsOnAnAssumptionDoesNotCount) {
  Gallery gallery;
  Technique row = published(1.5, 1.5);
  row.assumptions.push_back({"a", {"k=1"}, {"k=2"}, 1.1, 1.5});
  gallery.techniques = {row, row};
  gallery.techniques[1].assumptions[0].at_low = 1.5;
  EXPECT_EQ(figures(gallery).within, 2U);
  EXPECT_EQ(figures(gallery).assumed, 1U);
  EXPECT_EQ(figures(gallery).counted, 1U);
}

TEST(Gallery, ThePageIsFoundAgainAndSaysWhatWasAssumed) {
  Gallery gallery;
  gallery.sources = {{"source", "A paper"}};
  gallery.techniques = {published(1.5, 1.4)};
  gallery.techniques[0].name = "a technique";
  gallery.techniques[0].where = "table 1";
  gallery.techniques[0].without = {Seconds{1.9}, Seconds{2}, false};
  gallery.techniques[0].with = {Seconds{0}, Seconds{1.4}, true};
  gallery.techniques[0].assumptions.push_back({"batch", {"k=1"}, {"k=2"}, 1.3, 1.5});
  gallery.systems = {{"other", "no step"}};
  const std::string page = gallery_markdown(gallery);
  EXPECT_EQ(read_counted(page), 0);
  EXPECT_NE(page.find("| a technique (table 1) | 1.500 | 1.400 | -20 % | direction, assumed | "
                      "2.00 s for 1.90 s; 1.40 s; the first does not fit into memory | "
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
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: b.yaml, at_least: 3, at_most: 2, experts: true, less: [name=x], baseline_time: 2s}
)");
  try {
    read_gallery(path, {});
    FAIL();
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.text() + "\n";
    for (const char* part :
         {"techniques.0.source: is 't', allowed: the key of one of the sources",
          "techniques.0.gain: does not go with a range", "techniques.0.technique: is the baseline",
          "techniques.1.technique: names 'b.yaml', which does not exist",
          "techniques.1.at_least: has no higher at_most",
          "techniques.1.less: does not go with experts",
          "techniques.1.baseline_time: is that of a step beside experts or less"})
      EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

// Each of these would be printed, or counted, as if it said something.
TEST(Gallery, RowsThatSayNothingAreReportedWithTheirPlace) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write("gallery.yaml", R"(stepcast: 1
sources: [{key: s, name: a source}, {key: s, name: again}, {key: u, name: unused}]
techniques:
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: a.yaml, set: [name=x], gain: 1.0}
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: a.yaml, set: [name=y], at_least: 1, at_most: 1}
  - {name: m, source: s, kind: k, where: w, baseline: a.yaml, technique: a.yaml, set: [name=x], gain: 2}
  - name: assumed
    source: s
    kind: k
    where: w
    baseline: a.yaml
    technique: a.yaml
    set: [name=z]
    gain: 2
    assumptions:
      - {what: b, low: [training.global_batch=4], high: [training.global_batch=4]}
      - {what: c, in: technique, low: [], high: [training.global_batch=4]}
)");
  try {
    read_gallery(path, {});
    FAIL();
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics()) all += d.text() + "\n";
    for (const char* part :
         {"sources.1.key: is 's' again, allowed: a word of its own",
          "sources.2.key: is 'u', which has no row, allowed: a source of techniques",
          "techniques.0.gain: is 1, which is no gain, allowed: a number above or below 1",
          "techniques.1.at_least: is 1, which is no gain", "techniques.1.at_most: is 1",
          "techniques.1.name: is 'n', which its source has already",
          "techniques.2.technique: is compared to this baseline in a row before, allowed: once",
          "techniques.3.assumptions.0.high: is the same as low, allowed: the other end",
          "techniques.3.assumptions.1.low: sets nothing, allowed: the keys of an end"})
      EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
    EXPECT_EQ(error.diagnostics().size(), 9U) << all;
    for (const Diagnostic& d : error.diagnostics()) {
      EXPECT_GT(d.place.line, 0) << d.text();
      EXPECT_GT(d.place.column, 0) << d.text();
    }
  }
}

std::string complaint_about(const std::string& rows) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write(
      "gallery.yaml", "stepcast: 1\nsources: [{key: s, name: a source}]\ntechniques:\n" + rows);
  try {
    measure_gallery(std::filesystem::path(path).parent_path().string(), default_search_path({}), 1);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Names and expectations change no step.
TEST(Gallery, AScenarioIsNotComparedWithItself) {
  EXPECT_NE(complaint_about("  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, "
                            "technique: a.yaml, set: [parallel.vpp=1], gain: 2}\n")
                .find(": techniques.0.technique: is the step of the baseline, allowed: a "
                      "file, or set, that changes it"),
            std::string::npos);
  EXPECT_NE(complaint_about("  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, "
                            "technique: a.yaml, set: [training.global_batch=8], gain: 2, "
                            "assumptions: [{what: x, low: [parallel.vpp=1], high: [name=y]}]}\n")
                .find("techniques.0.assumptions.0: has two ends that are the same steps"),
            std::string::npos);
}

// Two stages and four micro-batches of 1 ms forward and 2 ms back take 15 ms, eight 27 ms: a
// sequence 1.11 times as long. With no weight gradients in the technique alone they take 18 ms.
TEST(Gallery, AnEndMayStandInTheTechniqueAlone) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write("gallery.yaml", R"(stepcast: 1
sources: [{key: s, name: a source}]
techniques:
  - name: n
    source: s
    kind: k
    where: w
    baseline: a.yaml
    technique: a.yaml
    set: [training.global_batch=8]
    gain: 1.2
    baseline_time: 16ms
    assumptions:
      - {what: b, in: technique, low: ["workload.chunks.0.backward_weight=0s"], high: ["workload.chunks.0.backward_weight=1ms"]}
      - {what: c, in: baseline, low: ["workload.chunks.0.backward_weight=0s"], high: ["workload.chunks.0.backward_weight=1ms"]}
)");
  const Gallery gallery = measure_gallery(std::filesystem::path(path).parent_path().string(),
                                          default_search_path({}), 1);
  const Technique& row = gallery.techniques.at(0);
  EXPECT_NEAR(row.forecast, 2 * 15.0 / 27, 1e-9);
  EXPECT_NEAR(row.assumptions.at(0).at_low, 2 * 15.0 / 18, 1e-9);
  EXPECT_NEAR(row.assumptions.at(0).at_high, row.forecast, 1e-12);
  EXPECT_NEAR(row.assumptions.at(1).at_low, 2 * 10.0 / 27, 1e-9);
  EXPECT_NEAR(row.without.forecast.value(), 15e-3, 1e-12);
  EXPECT_NEAR(row.without.published.value(), 16e-3, 1e-12);
  EXPECT_NEAR(row.with.forecast.value(), 27e-3, 1e-12);
  EXPECT_EQ(row.with.published.value(), 0);
  EXPECT_TRUE(row.with.fits);
}

TEST(Gallery, ComparesExpertsOnlyWhereThereAreSome) {
  const test::TemporaryFiles files;
  files.write("a.yaml", scenario);
  const std::string path = files.write("gallery.yaml", R"(stepcast: 1
sources: [{key: s, name: a source}]
techniques:
  - {name: n, source: s, kind: k, where: w, baseline: a.yaml, technique: a.yaml, set: [training.global_batch=8], gain: 2, experts: true}
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
