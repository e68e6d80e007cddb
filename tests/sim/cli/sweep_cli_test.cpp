#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "shell.hpp"
#include "sim/sweep/small_sweep.hpp"

// Sweeps and checks as a shell sees them: exit codes, processes that die, shards, MPI.
namespace stepcast {
namespace {

using test::TemporaryFiles;

using test::content;
using test::Ran;
using test::shell;

const std::string program = STEPCAST_BINARY;

/// 60 points of small pipelines.
constexpr std::string_view wide_sweep = R"(stepcast: 1
name: wide
sweep:
  base: base.yaml
  grid:
    cluster.devices: [8, 16, 24, 32, 40]
    parallel.pp: [1, 2, 4, 8]
    training.micro_batch: [1, 2, 4]
  baseline: {cluster.devices: 8}
)";

TEST(SweepCli, WritesTableCsvAndJson) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files);
  const Ran table = shell(files, program + " sweep " + sweep + " -j2 --csv " + files.path("p.csv"));
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("efficiency"), std::string::npos);
  EXPECT_NE(table.out.find("6 points: 6 ok"), std::string::npos) << table.out;
  EXPECT_NE(table.err.find("6/6 "), std::string::npos) << "one line per point without a terminal";
  EXPECT_EQ(content(files.path("p.csv")),
            shell(files, program + " sweep " + sweep + " --csv -").out);
  const Ran json = shell(files, program + " -q sweep " + sweep + " --json -");
  EXPECT_EQ(json.err, "");
  const auto points = nlohmann::json::parse(json.out)["points"];
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[0]["scaling_efficiency"], 1.0);
}

TEST(SweepCli, DryRunListsWhatTheChoiceLeaves) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files);
  const Ran ran =
      shell(files, program + " sweep " + sweep + " --dry-run --filter 'parallel.pp=4' --limit 2");
  EXPECT_EQ(ran.out,
            "1  cluster.devices=8 parallel.pp=4\n3  cluster.devices=16 parallel.pp=4\n"
            "2 of 6 points\n");
}

TEST(SweepCli, WrongUseExitsWithTwo) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files), text = files.write("t", "no store");
  const struct {
    std::string arguments, says;
  } rows[] = {
      {"sweep " + files.path("gone.yaml"), "does not exist"},
      {"sweep " + files.path("base.yaml"), "is a scenario file, give a sweep file; stepcast run"},
      {"run " + sweep, "is a sweep file, give a scenario"},
      {"sweep " + sweep + " -j 0", "--jobs: is '0'"},
      {"sweep " + sweep + " --shard 3/2", "--shard: is '3/2'"},
      {"sweep " + sweep + " --shard 2", "--shard: is '2'"},
      {"sweep " + sweep + " --filter pp=2", "--filter: 'pp=2' names no key that varies"},
      {"sweep " + sweep + " --store " + text, "is no store"},
      {"sweep " + sweep + " --store " + files.path("no/s"), "cannot be opened"},
      {"sweep " + sweep + " --csv - --json -", "are both -"},
      {"results " + files.path("gone"), "does not exist"},
      {"results merge " + files.path("m"), "needs a target and at least one store"},
      {"check " + files.path("base.yaml"), "expect: is missing"},
      {"scale " + files.path("base.yaml"), "--devices: is missing"},
      {"scale " + files.path("base.yaml") + " --devices 8..x", "--devices: is 'x'"},
      {"scale " + files.path("base.yaml") + " --devices 16..8", "from the smaller up"},
      {"scale " + sweep + " --devices 8", "is a sweep file"},
      {"diff " + files.path("base.yaml") + " " + files.path("gone"), "does not exist"},
  };
  for (const auto& row : rows) {
    const Ran ran = shell(files, program + " " + row.arguments);
    EXPECT_EQ(ran.code, 2) << row.arguments;
    EXPECT_NE(ran.err.find(row.says), std::string::npos) << row.arguments << ": " << ran.err;
  }
  EXPECT_EQ(content(text), "no store");
}

TEST(SweepCli, KilledTwentyTimesAndResumedGivesTheSameRows) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files, wide_sweep);
  const std::string whole = files.path("whole"), killed = files.path("killed");
  ASSERT_EQ(shell(files, program + " sweep " + sweep + " --store " + whole).code, 0);
  for (int round = 1; round <= 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      execl(program.c_str(), "stepcast", "-q", "sweep", sweep.c_str(), "--store", killed.c_str(),
            "--csv", files.path("k.csv").c_str(), nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(15 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const Ran resumed = shell(files, program + " sweep " + sweep + " --store " + killed + " --csv -");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out,
            shell(files, program + " sweep " + sweep + " --store " + whole + " --csv -").out);
  EXPECT_EQ(shell(files, program + " results " + killed + " --csv -").out,
            shell(files, program + " results " + whole + " --csv -").out);
}

TEST(SweepCli, TwoSweepsIntoOneStoreAtOnce) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files, wide_sweep), both = files.path("both");
  const std::string run = program + " -q sweep " + sweep + " --store " + both + " --csv ";
  ASSERT_EQ(shell(files, "sh -c '" + run + files.path("1.csv") + " & " + run + files.path("2.csv") +
                             " && wait'")
                .code,
            0);
  EXPECT_EQ(content(files.path("1.csv")), content(files.path("2.csv")));
  const std::string alone =
      shell(files, program + " sweep " + sweep + " --store " + files.path("one") + " --csv -").out;
  EXPECT_EQ(content(files.path("1.csv")), alone);
  EXPECT_EQ(shell(files, program + " results " + both + " --csv -").out,
            shell(files, program + " results " + files.path("one") + " --csv -").out);
}

TEST(SweepCli, ThreeShardsMergedAreTheWhole) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files, wide_sweep);
  std::string stores;
  for (const char* shard : {"1", "2", "3"}) {
    stores += " " + files.path(shard);
    ASSERT_EQ(shell(files, program + " sweep " + sweep + " --shard " + shard + "/3 --store " +
                               files.path(shard))
                  .code,
              0);
  }
  const std::string merged = files.path("merged"), whole = files.path("whole");
  ASSERT_EQ(shell(files, program + " results merge " + merged + stores).code, 0);
  ASSERT_EQ(shell(files, program + " sweep " + sweep + " --store " + whole).code, 0);
  EXPECT_EQ(shell(files, program + " results " + merged + " --csv -").out,
            shell(files, program + " results " + whole + " --csv -").out);
}

#ifdef STEPCAST_MPI_BINARY
/// Open MPI keeps memory until the end of its processes, which is not ours to mend.
const std::string mpirun =
    "ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n ";

TEST(SweepMpi, FourRanksGiveTheRowsOfOneProcess) {
  const TemporaryFiles files;
  const std::string sweep = test::write_sweep(files, wide_sweep);
  const std::string alone = shell(files, program + " sweep " + sweep + " --csv -").out;
  for (const char* ranks : {"1", "2", "4"}) {
    const std::string store = files.path(std::string("store") + ranks);
    const Ran ran = shell(files, mpirun + ranks + " " + STEPCAST_MPI_BINARY + " " + sweep +
                                     " --store " + store + " --csv -");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, alone) << ranks;
    EXPECT_EQ(shell(files, program + " sweep " + sweep + " --store " + store + " --csv -").err, "")
        << "nothing is missing";
  }
}

TEST(SweepMpi, BadInputEndsTheJobWithTwo) {
  const TemporaryFiles files;
  const Ran ran = shell(files, mpirun + "3 " + STEPCAST_MPI_BINARY + " " + files.path("gone.yaml"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("does not exist"), std::string::npos);
}
#endif

const std::string expectation = "expect: {step_time: {value: 33ms, tolerance: 0.1%}}  # spring\n";

TEST(CheckCli, ExitsWithOneWhereOneFailsAndUpdates) {
  const TemporaryFiles files;
  const std::string good = files.write("d/a.yaml", std::string(test::sweep_base) + expectation);
  EXPECT_EQ(shell(files, program + " check " + files.path("d")).code, 0);
  std::string off = std::string(test::sweep_base) + expectation;
  off.replace(off.find("33ms"), 4, "30ms");
  const std::string bad = files.write("d/b.yaml", off);
  const Ran ran =
      shell(files, program + " check " + files.path("d") + " --junit " + files.path("junit.xml"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("2 checked: 1 ok, 1 failed"), std::string::npos) << ran.out;
  EXPECT_NE(content(files.path("junit.xml")).find("failures=\"1\""), std::string::npos);
  // A file without a breakdown gets one, whether it fails or not.
  EXPECT_EQ(shell(files, program + " check --update " + files.path("d")).out,
            good + ": updated\n" + bad + ": updated\n");
  EXPECT_EQ(content(bad), content(good));
  EXPECT_EQ(shell(files, program + " check " + files.path("d")).code, 0);
}

TEST(CheckCli, FilterAndToleranceChooseAndWiden) {
  const TemporaryFiles files;
  std::string off = std::string(test::sweep_base) + expectation;
  off.replace(off.find("33ms"), 4, "30ms");
  files.write("d/a.yaml", std::string(test::sweep_base) + expectation);
  files.write("d/b.yaml", off);
  const std::string check = program + " check " + files.path("d");
  const Ran one = shell(files, check + " --filter '*/a.yaml'");
  EXPECT_NE(one.out.find("1 checked: 1 ok"), std::string::npos) << one.out;
  EXPECT_EQ(shell(files, check + " --filter '*/b.yaml' --filter '*/a.*'").code, 1);
  const Ran none = shell(files, check + " --filter '*/c*'");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("'*/c*' fits no file"), std::string::npos) << none.err;
  EXPECT_EQ(shell(files, check + " --tolerance 10.1%").code, 0);  // 33 ms for 30 ms: 10 %
  EXPECT_EQ(shell(files, check + " --tolerance 9.9%").code, 1);
  for (const char* wrong : {"10", "x%", "-1%", "%"})
    EXPECT_EQ(shell(files, check + " --tolerance=" + wrong).code, 2) << wrong;
  EXPECT_EQ(shell(files, check + " --update --tolerance 1%").code, 2);
}

TEST(CheckCli, SummaryAndAnnotationsSayWhatFailedAndWhere) {
  const TemporaryFiles files;
  std::string off = "# a line before\n" + std::string(test::sweep_base) + expectation;
  off.replace(off.find("33ms"), 4, "30ms");
  const std::string bad = files.write("d/b.yaml", off);
  files.write("d/a.yaml", std::string(test::sweep_base) + expectation);
  const Ran ran = shell(files, program + " check " + files.path("d") +
                                   " --annotations --markdown " + files.path("s.md"));
  EXPECT_EQ(ran.code, 1);
  const auto line =
      std::count(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(off.find("expect:")),
                 '\n') +
      1;
  EXPECT_NE(ran.out.find("::error file=" + bad + ",line=" + std::to_string(line) +
                         ",title=stepcast check%3A base::step_time 33.0 ms, expected 30.0 ms "
                         "within 0.1%25%0Astep_time +10.0 %25"),
            std::string::npos)
      << ran.out;
  const std::string summary = content(files.path("s.md"));
  EXPECT_NE(summary.find("**2 scenarios checked: 1 ok, 1 failed**"), std::string::npos) << summary;
  EXPECT_LT(summary.find("| **failed** |"), summary.find("| ok |"));
  EXPECT_NE(summary.find("| step\\_time | 33.0 ms | 30.0 ms | +10.0 % |"), std::string::npos)
      << summary;
}

TEST(EditCli, AnEditedFileIsTheOverriddenScenario) {
  const TemporaryFiles files;
  test::write_sweep(files);
  const std::string base = files.path("base.yaml"), out = files.path("edited.yaml");
  const Ran ran = shell(files, program + " edit " + base + " --set name=other -o " + out);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(content(out).find("name: other"), std::string::npos);
  const auto result = [&](const std::string& file, const std::string& options) {
    return shell(files, program + " run " + file + options).out;
  };
  EXPECT_EQ(result(out, ""), result(base, " --set name=other"));
  EXPECT_EQ(shell(files, program + " edit " + base).code, 2);
  const std::string before = content(out);
  EXPECT_EQ(shell(files, program + " edit " + out + " --set nam=x -o " + out).code, 2);
  EXPECT_EQ(content(out), before);
}

TEST(CheckCli, AFileThatDoesNotReadExitsWithTwo) {
  const TemporaryFiles files;
  files.write("d/a.yaml", std::string(test::sweep_base) + expectation);
  files.write("d/b.yaml", std::string(test::sweep_base) + "expect: {step_tim: 1}\n");
  const Ran ran = shell(files, program + " check " + files.path("d"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("did you mean step_time?"), std::string::npos) << ran.err;
}

TEST(ScaleCli, DoublesDevicesAndDraws) {
  const TemporaryFiles files;
  test::write_sweep(files);
  const std::string base = files.path("base.yaml");
  const Ran ran = shell(files, program + " scale " + base + " --devices 8..40 --svg " +
                                   files.path("c.svg") + " --csv " + files.path("c.csv"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* point : {"devices=8 ", "devices=16 ", "devices=32 ", "devices=40 "})
    EXPECT_NE(ran.out.find(point), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("devices=64"), std::string::npos);
  EXPECT_NE(content(files.path("c.svg")).find("</svg>"), std::string::npos);
  const Ran strong = shell(files, program + " scale " + base + " --devices 8,16 --strong");
  EXPECT_NE(strong.out.find("what grows"), std::string::npos) << strong.out;
}

TEST(DiffCli, AcceptsResultsOfRuns) {
  const TemporaryFiles files;
  test::write_sweep(files);
  const std::string base = files.path("base.yaml");
  ASSERT_EQ(shell(files, program + " run " + base + " --json " + files.path("a.json")).code, 0);
  ASSERT_EQ(
      shell(files, program + " run " + base + " --set parallel.pp=2 --json " + files.path("b.json"))
          .code,
      0);
  const Ran ran =
      shell(files, program + " diff " + files.path("a.json") + " " + files.path("b.json"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("parallel.pp"), std::string::npos) << ran.out;
  const Ran mixed =
      shell(files, program + " diff " + base + " " + files.path("b.json") + " --json -");
  EXPECT_TRUE(nlohmann::json::parse(mixed.out).contains("change_s"));
}

}  // namespace
}  // namespace stepcast
