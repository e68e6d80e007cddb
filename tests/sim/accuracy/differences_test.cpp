#include "stepcast/sim/accuracy/differences.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

/// A pipeline of two stages that costs nothing but its units: m + 1 of them, each 3 s long.
std::string row(const std::string& name, const std::string& expect, const std::string& more = "") {
  return "stepcast: 1\nname: " + name + "\ncluster: {extends: clusters/ideal.yaml, devices: 2" +
         more +
         "}\nworkload: {chunks: [{forward: 1s, backward_input: 2s}]}\nparallel: {pp: 2}\n"
         "training: {global_batch: 4}\nexpect: {step_time: {value: " +
         expect + "}}\n";
}

const char* const head = "stepcast: 1\ndiffers:\n";

std::string entry(const std::string& rows, const std::string& keys,
                  const std::string& kind = "contradicts") {
  return "  - {rows: [" + rows + "], kind: " + kind + ", keys: [" + keys +
         "], reason: r, source: s}\n";
}

std::string key(const std::string& path, const std::string& ledger, const std::string& script) {
  return "{key: " + path + ", ledger: " + ledger + ", script: " + script + "}";
}

class Differences : public testing::Test {
 protected:
  void SetUp() override {
    files_.write("one/a.yaml", row("a", "15s"));
    files_.write("one/b.yaml", row("b", "15s", ", network: {nic: {bandwidth: 1GB/s}}"));
    files_.write("two/c.yaml", row("c", "30s"));
  }
  std::vector<Difference> read(const std::string& entries) {
    return read_differences(files_.write("differs.yaml", head + entries), search_);
  }
  /// What is wrong with a list, and nothing else.
  std::string only(const std::string& entries) {
    try {
      read(entries);
    } catch (const InputError& error) {
      return error.diagnostics().size() == 1
                 ? error.diagnostics()[0].path + ": " + error.diagnostics()[0].message
                 : error.what();
    }
    return "";
  }
  test::TemporaryFiles files_;
  SearchPath search_ = default_search_path({});
};

TEST_F(Differences, NameFilesByPatternsOnce) {
  const auto all = read(entry("\"one/*.yaml\", one/a.yaml", key("parallel.pp", "2", "1")));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].files, (std::vector<std::string>{"one/a.yaml", "one/b.yaml"}));
  EXPECT_FALSE(all[0].lacks_words());
  EXPECT_EQ(all[0].kind, DifferenceKind::contradicts);
  EXPECT_TRUE(differences_of(files_.path("one"), search_).empty());
}

TEST_F(Differences, ThatAreStaleOrEmptyAreRefused) {
  const std::string pp = "differs.0.keys.0";
  EXPECT_EQ(only(entry("one/a.yaml", key("parallel.pp", "4", "1"))),
            pp + ".ledger: is '4', which one/a.yaml does not have, allowed: what the row has");
  EXPECT_EQ(only(entry("one/a.yaml", key("parallel.pp", "2", "2"))),
            pp + ".script: is what the ledger has, allowed: another value");
  EXPECT_EQ(only(entry("one/a.yaml", key("parallel.pp", "2", "2.0"))),
            pp + ".script: is what the ledger has, allowed: another value");
  EXPECT_EQ(only(entry("one/a.yaml", key("parallel.pp", "unset", "1"))),
            pp + ".ledger: is 'unset', which one/a.yaml does not have, allowed: what the row has");
  EXPECT_EQ(only(entry("one/a.yaml", key("cluster.network.nic.bandwidth", "unset", "unset"))),
            pp + ".script: is what the ledger has, allowed: another value");
  EXPECT_EQ(only(entry("one/x.yaml", key("parallel.pp", "2", "1"))),
            "differs.0.rows: names 'one/x.yaml', which is no scenario, allowed: files of this "
            "folder, * for any text");
  EXPECT_EQ(
      only(entry("one/a.yaml", "")),
      "differs.0.keys: is an empty list, allowed: a list of mappings (that differ for one reason)");
  EXPECT_NE(only(entry("one/a.yaml", key("parallel.pq", "unset", "1"))).find(pp + ".key: "),
            std::string::npos);
  EXPECT_NE(only(entry("one/a.yaml", "{key: parallel.pp, ledger: 2}")).find("neither script"),
            std::string::npos);
  EXPECT_NE(only(entry("one/a.yaml", key("parallel.pp", "2", "1")) +
                 entry("\"*/a.yaml\"", key("parallel.pp", "2", "4")))
                .find("is 'parallel.pp' of one/a.yaml again"),
            std::string::npos);
  files_.write("one/d.yaml", row("d", "1s").substr(0, row("d", "1s").find("expect")));
  EXPECT_NE(only(entry("one/d.yaml", key("parallel.pp", "2", "1"))).find("expects no step time"),
            std::string::npos);
}

TEST_F(Differences, AreAllReportedAtOnce) {
  try {
    read(entry("one/x.yaml", key("parallel.pp", "2", "1")) +
         entry("one/a.yaml", key("parallel.pp", "4", "1"), "other") +
         "  - {rows: [one/a.yaml], keys: []}\n");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().size(), 6U) << error.what();
  }
}

TEST_F(Differences, AKeyThatIsTakenAwayHasTheValueOfThePreset) {
  const auto all =
      read(entry("one/b.yaml", key("cluster.network.nic.bandwidth", "1GB/s", "unset")));
  const Node by_script = document_by_script(files_.path(""), "one/b.yaml", all, search_);
  const Node preset = load_document("clusters/ideal.yaml", search_);
  const Node* has = node_at(by_script, "cluster.network.nic.bandwidth");
  const Node* wanted = node_at(preset, "network.nic.bandwidth");
  ASSERT_TRUE(has != nullptr && wanted != nullptr);
  EXPECT_EQ(has->text, wanted->text);
}

/// m micro-batches of 3 s on two stages take 3 (m + 1) s: 15 s for four, 30 s for nine, so that a
/// has no error as it is shipped, and b none by its script.
TEST_F(Differences, EmptiedFiguresFollowFromTheRowsOfTheScripts) {
  files_.write("one/b.yaml", row("b", "30s"));
  const auto differences =
      read(entry("one/b.yaml", key("training.global_batch", "4", "9")) +
           entry("two/c.yaml", "{key: schedule.pipeline, ledger: unset, lacking: a solver}"));
  const std::string folder = files_.path("");
  const auto rows = published_rows(folder, search_);
  Ledger ledger;
  ledger.rows = measure(rows, 1);
  ledger.differences = differences;
  ledger.by_script = measure_by_script(folder, rows, ledger.rows, differences, search_, 1);
  ASSERT_EQ(ledger.by_script.size(), 2U);
  EXPECT_NEAR(ledger.rows[1].error(), -0.5, 1e-9);
  EXPECT_NEAR(ledger.by_script[0].row.error(), 0, 1e-9);
  EXPECT_TRUE(ledger.by_script[1].lacking);
  Ledger empty = emptied(ledger);
  ASSERT_EQ(empty.rows.size(), 2U);  // without the row that the format has no word for
  for (Ledger* of : {&ledger, &empty})
    for (MeasuredRow& r : of->rows) r.model = true;
  EXPECT_NEAR(ledger.overall(), (0 + 0.5 + 0.5) / 3, 1e-9);
  EXPECT_NEAR(empty.overall(), 0, 1e-9);
  for (ScriptRow& r : ledger.by_script) r.row.model = true;
  const std::string page = ledger_markdown(ledger);
  EXPECT_NE(page.find("| all with a model | 33.33 (3) | 0.00 (2) |"), std::string::npos);
  EXPECT_NE(page.find("| b | -50.0 | +0.0 |"), std::string::npos);
  EXPECT_NE(page.find("by the script a solver, for which the format has no word"),
            std::string::npos);
  EXPECT_NE(ledger_json(ledger).find("\"by_script\""), std::string::npos);
  EXPECT_NE(ledger_text(ledger).find("no word for it"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
