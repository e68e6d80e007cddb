#include "stepcast/sim/accuracy/accuracy.hpp"

#include <gtest/gtest.h>

#include <map>

#include "temporary_files.hpp"

namespace stepcast {
namespace {

MeasuredRow row(const std::string& name, double published, double forecast) {
  MeasuredRow r;
  r.name = name;
  r.family = "family";
  r.published = published;
  r.forecast = forecast;
  return r;
}

TEST(Accuracy, FiguresOfKnownErrors) {
  const ErrorFigures f = figures({0.1, -0.3, 0.05, -0.05, 0.2});
  EXPECT_EQ(f.rows, 5U);
  EXPECT_NEAR(f.mean, 0.14, 1e-12);
  EXPECT_NEAR(f.median, 0.1, 1e-12);
  EXPECT_NEAR(f.p90, 0.3, 1e-12);
  EXPECT_NEAR(f.worst, 0.3, 1e-12);
  EXPECT_NEAR(f.bias, 0.0, 1e-12);
  EXPECT_NEAR(figures({0.1, 0.2}).median, 0.15, 1e-12);
  EXPECT_EQ(figures({}).rows, 0U);
}

TEST(Accuracy, HalfOfTheRowsAreHeldOutByNameAlone) {
  int out = 0;
  for (int i = 0; i < 1000; ++i) out += held_out("row-" + std::to_string(i)) ? 1 : 0;
  EXPECT_GT(out, 450);
  EXPECT_LT(out, 550);
  EXPECT_EQ(held_out("row-1"), held_out("row-1"));
}

TEST(Accuracy, OverallCountsRowsWithAModelThatRan) {
  Ledger ledger;
  ledger.rows = {row("a", 1, 1.1), row("b", 1, 0.7), row("c", 1, 5), row("d", 1, 0)};
  ledger.rows[2].model = false;
  ledger.rows[3].failure = "no";
  EXPECT_NEAR(ledger.overall(), 0.2, 1e-12);
}

TEST(Accuracy, SupersededRowsCountInNoFigure) {
  Ledger ledger;
  ledger.rows = {row("a", 1, 1.1), row("b", 1, 3), row("c", 1, 0.7)};
  ledger.rows[1].label = RowLabel::superseded;
  ledger.rows[2].label = RowLabel::foreign;
  EXPECT_NEAR(ledger.overall(), 0.2, 1e-12);
  const LedgerGroup all = ledger_groups(ledger).back();
  EXPECT_EQ(all.all.rows, 2U);
  EXPECT_EQ(all.calibrated.rows, 1U);
  EXPECT_EQ(all.held_out.rows, 0U);
  EXPECT_NEAR(all.foreign.mean, 0.3, 1e-12);
  EXPECT_NE(ledger_markdown(ledger).find("| b | 1.00 s | 3.00 s | +200.0 |  | superseded |"),
            std::string::npos);
}

TEST(Accuracy, ClassesLeaveOneSourceOfExpertsOut) {
  Ledger ledger;
  ledger.rows = {row("a", 1, 1.1), row("b", 1, 1.3), row("c", 1, 2)};
  ledger.rows[0].family = "one";
  ledger.rows[1].family = "two";
  for (int i : {0, 1}) ledger.rows[i].experts = true;
  ledger.rows[0].framework = ledger.rows[2].framework = "Megatron";
  std::map<std::string, double> means;
  for (const LedgerGroup& g : ledger_classes(ledger)) means[g.name] = g.all.mean;
  EXPECT_EQ(means.size(), 4U);
  EXPECT_NEAR(means.at("dense, Megatron"), 1, 1e-12);
  EXPECT_NEAR(means.at("experts, Megatron"), 0.1, 1e-12);
  EXPECT_NEAR(means.at("experts without one"), 0.3, 1e-12);
  EXPECT_NEAR(means.at("experts without two"), 0.1, 1e-12);
}

TEST(Accuracy, LabelsFollowFromTheFolderOfARow) {
  const test::TemporaryFiles files;
  files.write("new/superseded/x.yaml", "");
  files.write("labels.yaml",
              "stepcast: 1\nforeign: [new]\nheld_out: [kept-1, kept-2, kept-3]\n"
              "frameworks: [{name: F, folders: [new]}]\n");
  const SourceLabels labels = read_labels(files.path(""), default_search_path({}));
  EXPECT_EQ(label_of(labels, "new/x.yaml", "x"), RowLabel::foreign);
  EXPECT_EQ(label_of(labels, "new/superseded/x.yaml", "x"), RowLabel::superseded);
  EXPECT_EQ(label_of(labels, "old/x.yaml", "x"),
            held_out("x") ? RowLabel::held_out : RowLabel::fitted);
  for (const char* kept : {"kept-1", "kept-2", "kept-3"})
    EXPECT_EQ(label_of(labels, "old/x.yaml", kept), RowLabel::held_out);
  EXPECT_EQ(name(RowLabel::held_out), "held out");
  files.write("labels.yaml", "stepcast: 1\nforeign: [none]\nframeworks: []\n");
  EXPECT_THROW(read_labels(files.path(""), default_search_path({})), InputError);
  EXPECT_TRUE(read_labels(files.path("new"), default_search_path({})).foreign.empty());
}

TEST(Accuracy, ThePageKeepsTheOverallFigure) {
  Ledger ledger;
  ledger.rows = {row("a", 1, 1.1234)};
  const std::string page =
      "above\n<!-- ledger: written by stepcast accuracy --write -->\nold\n<!-- end of the ledger "
      "-->\n"
      "below\n";
  const std::string fresh = replace_ledger(page, "page.md", ledger_markdown(ledger));
  EXPECT_TRUE(fresh.starts_with("above\n"));
  EXPECT_TRUE(fresh.ends_with("below\n"));
  EXPECT_EQ(fresh.find("old"), std::string::npos);
  ASSERT_TRUE(read_overall(fresh));
  EXPECT_NEAR(*read_overall(fresh), 0.1234, 1e-9);
  EXPECT_EQ(replace_ledger(fresh, "page.md", ledger_markdown(ledger)), fresh);
  EXPECT_FALSE(read_overall("nothing"));
  EXPECT_THROW(replace_ledger("nothing", "page.md", "x"), InputError);
}

TEST(Accuracy, EveryRowIsInEachForm) {
  Ledger ledger;
  ledger.rows = {row("some-row", 10, 12)};
  ledger.ratios = {{"a ratio", "x", "y", "source", 0.5, 0.6}};
  for (const std::string& text :
       {ledger_text(ledger), ledger_json(ledger), ledger_markdown(ledger)}) {
    EXPECT_NE(text.find("some-row"), std::string::npos);
    EXPECT_NE(text.find("a ratio"), std::string::npos);
  }
  EXPECT_NE(ledger_svg(ledger).find("some-row"), std::string::npos);
}

TEST(Accuracy, FindsTheScenariosThatExpectAStepTime) {
  const test::TemporaryFiles files;
  const std::string pipeline =
      "stepcast: 1\nname: NAME\ncluster: {extends: clusters/ideal.yaml, devices: 2}\n"
      "workload: {chunks: [{forward: 1s, backward_input: 2s}]}\nparallel: {pp: 2}\n"
      "training: {global_batch: 4}\n";
  const auto named = [&](const std::string& name) {
    std::string text = pipeline;
    return text.replace(text.find("NAME"), 4, name);
  };
  files.write("one/b.yaml", named("b") + "expect: {step_time: {value: 30s}}\n");
  files.write("one/a.yaml", named("a") + "expect: {step_time: {value: 15s}}\n");
  files.write("two/c.yaml", named("c"));
  files.write("ratios.yaml",
              "stepcast: 1\nratios:\n  - {name: r, of: two/c.yaml, to: one/a.yaml, published: 2, "
              "source: s}\n");
  const SearchPath search = default_search_path({});
  const auto rows = published_rows(files.path(""), search);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].file, "one/a.yaml");
  EXPECT_EQ(rows[0].family, "one");
  const auto measured = measure(rows, 2);
  EXPECT_NEAR(measured[0].forecast, 15, 1e-9);  // (4 + 2 - 1) x 3 s
  EXPECT_NEAR(measured[1].error(), -0.5, 1e-9);
  EXPECT_FALSE(measured[0].model);
  const auto ratios = measure_ratios(files.path(""), measured, search, 2);
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_NEAR(ratios[0].forecast, 1, 1e-9);
}

TEST(Accuracy, AFolderWithoutRowsAndWrongFilesAreErrors) {
  const test::TemporaryFiles files;
  files.write("x/y.yaml", "stepcast: 1\nname: y\n");
  EXPECT_THROW(published_rows(files.path("x"), default_search_path({})), InputError);
  EXPECT_THROW(published_rows(files.path("none"), default_search_path({})), InputError);
}

}  // namespace
}  // namespace stepcast
