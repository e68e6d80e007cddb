#include <gtest/gtest.h>

#include <string>

#include "shell.hpp"

// `stepcast accuracy` of a gallery as a shell sees it.
namespace stepcast {
namespace {

using test::content;
using test::Ran;
using test::stepcast_run;

// Two stages and two micro-batches of 1 ms forward and 2 ms back take 9 ms, four of them 15 ms: per
// sequence 1.2 times as long.
constexpr const char* scenario = R"(stepcast: 1
name: small
cluster: {extends: clusters/ideal.yaml, devices: 2}
workload: {chunks: [{forward: 1ms, backward_input: 1ms, backward_weight: 1ms}], boundary: 0B}
parallel: {pp: 2}
training: {sequence: 1, global_batch: 2, micro_batch: 1}
schedule: {pipeline: 1f1b}
)";

std::string gallery(const char* gain) {
  return std::string{"stepcast: 1\nsources: [{key: s, name: A paper}]\ntechniques:\n"} +
         "  - {name: more micro-batches, source: s, kind: batch, where: table 1, baseline: a.yaml, "
         "technique: a.yaml, set: [training.global_batch=4], gain: " +
         gain +
         ", assumptions: [{what: weight gradients, low: "
         "[\"workload.chunks.0.backward_weight=0s\"], "
         "high: [\"workload.chunks.0.backward_weight=1ms\"]}]}\n";
}

TEST(GalleryCli, RowsFillAPageAndHoldTheirCount) {
  const test::TemporaryFiles files;
  files.write("g/a.yaml", scenario);
  files.write("g/gallery.yaml", gallery("1.2"));
  const std::string page = files.write("page.md",
                                       "# Page\n<!-- ledger: written by stepcast accuracy --write "
                                       "-->\n<!-- end of the ledger -->\n");
  const std::string command = "accuracy '" + files.path("g") + "' ";
  const Ran first = stepcast_run(files, command + "--write '" + page + "'");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(content(page).find("Rows that count as near: 1\n"), std::string::npos);
  EXPECT_NE(content(page).find("| more micro-batches (table 1) | 1.200 | 1.200 | "),
            std::string::npos)
      << content(page);
  EXPECT_EQ(stepcast_run(files, command + "--check '" + page + "'").code, 0);
  files.write("g/gallery.yaml", gallery("1.5"));
  const Ran worse = stepcast_run(files, command + "--check '" + page + "'");
  EXPECT_EQ(worse.code, 1);
  EXPECT_NE(worse.err.find("0 rows count as near"), std::string::npos) << worse.err;
  const Ran json = stepcast_run(files, command + "--json -");
  EXPECT_NE(json.out.find("\"verdict\": \"direction\""), std::string::npos) << json.out;
}

TEST(GalleryCli, APageThatCountsNothingIsRefused) {
  const test::TemporaryFiles files;
  files.write("g/a.yaml", scenario);
  files.write("g/gallery.yaml", gallery("1.2"));
  const std::string page = files.write("page.md", "# Page\n");
  const Ran ran = stepcast_run(files, "accuracy '" + files.path("g") + "' --check '" + page + "'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("counts no rows of a gallery"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace stepcast
