#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "shell.hpp"

// What is asked of the command line and cannot be: places to write, places to read, numbers that do
// not go together. All of it is refused before work begins.
namespace stepcast {
namespace {

using test::content;
using test::Ran;
using test::scenarios;
using test::shell;
using test::stepcast_run;
using test::TemporaryFiles;

const std::string quoted_pipeline = "'" + scenarios + "ideal-pipeline.yaml'";
const std::string llama = "'" + scenarios + "llama2-7b-8.yaml'";

/// Exit 2, and stderr says so.
void refuses(const TemporaryFiles& files, const std::string& arguments, const std::string& why) {
  const Ran ran = stepcast_run(files, arguments);
  EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.err;
  EXPECT_NE(ran.err.find(why), std::string::npos) << arguments << "\n" << ran.err;
  EXPECT_EQ(ran.out, "") << arguments;
}

TEST(Outputs, ArePlacesThatCanBeWritten) {
  const TemporaryFiles files;
  const std::string run = "run " + quoted_pipeline + " ", dangling = files.path("dangling");
  std::filesystem::create_symlink(files.path("nowhere"), dangling);
  const std::string fixed = files.write("fixed", "old"), json = files.path("x.json");
  chmod(fixed.c_str(), 0444);
  refuses(files, run + "--trace -", "--trace: is -, allowed: the path of a file");
  refuses(files, run + "--json '" + dangling + "'", "which does not exist, give a file");
  refuses(files, run + "--json '" + fixed + "'", "is read-only");
  refuses(files, run + "--report '" + files.path("") + "'", "is a directory");
  refuses(files, run + "--json '" + files.path("gone/x") + "'", "cannot be written");
  refuses(files, run + "--json '" + json + "' --trace '" + files.path("./x.json") + "'",
          "--trace: and --json are both");
  refuses(files, "schedule 1f1b --pp 2 --micro-batches 4 --svg - --json -", "are both -");
  EXPECT_EQ(content(fixed), "old");
  EXPECT_FALSE(std::filesystem::exists(json));
  EXPECT_EQ(stepcast_run(files, run + "--json /dev/null --trace /dev/null").code, 0);
}

// Who could read or run a file still can, and nobody else, once it was written anew.
TEST(Outputs, ModesOfFilesSurvive) {
  const TemporaryFiles files;
  const std::string checked = files.write(
      "small.yaml", test::content(scenarios + "ideal-pipeline.yaml") +
                        "expect: {step_time: {value: 1s, tolerance: 1%}, source: a test}\n");
  const std::string json = files.write("out.json", "");
  for (const mode_t mode : {0600, 0640, 0664, 0755, 0200}) {
    ASSERT_EQ(chmod(checked.c_str(), mode | 0400), 0);
    ASSERT_EQ(chmod(json.c_str(), mode), 0);
    const Ran updated = stepcast_run(files, "check --update '" + checked + "'");
    EXPECT_EQ(updated.code, 0) << updated.err;
    EXPECT_EQ(stepcast_run(files, "run " + quoted_pipeline + " --json '" + json + "'").code, 0);
    struct stat status {};
    ASSERT_EQ(stat(checked.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, mode | 0400);
    ASSERT_EQ(stat(json.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, mode);
    files.write("small.yaml",
                test::content(scenarios + "ideal-pipeline.yaml") +
                    "expect: {step_time: {value: 1s, tolerance: 1%}, source: a test}\n");
  }
}

TEST(Outputs, WhatIsShownAsTextStandsInJsonToo) {
  const TemporaryFiles files;
  const auto json_of = [&](const std::string& more) {
    return nlohmann::ordered_json::parse(
        stepcast_run(files, "run " + quoted_pipeline + " --json - " + more).out);
  };
  nlohmann::ordered_json all = json_of("--pipeline --operators"), plain = json_of("");
  const std::string csv = stepcast_run(files, "run " + quoted_pipeline + " --operators-csv -").out;
  ASSERT_EQ(all["operators"].size() + 1, std::count(csv.begin(), csv.end(), '\n'));
  const std::string head = csv.substr(0, csv.find('\n'));
  std::string keys;
  for (const auto& [key, value] : all["operators"][0].items())
    keys += (keys.empty() ? "" : ",") + key;
  EXPECT_EQ(keys, head);
  double computing = 0;
  for (const auto& row : all["operators"])
    if (row["stage"] == 0) computing += row["time_s"].get<double>();
  EXPECT_NEAR(computing, all["result"]["stages"][0]["computing_s"].get<double>(), 1e-12);
  EXPECT_NE(all["pipeline"].get<std::string>().find("stage 0"), std::string::npos);
  all.erase("operators");
  all.erase("pipeline");
  all.erase("timeline");
  EXPECT_EQ(all.dump(), plain.dump()) << "the forecast stays";
}

TEST(Outputs, AreTriedBeforeASweepRuns) {
  const TemporaryFiles files;
  const std::string store = files.path("store"), gone = files.path("gone/points.csv");
  refuses(files,
          "sweep '" + scenarios + "scaling/telechat3-105b.yaml' --store '" + store + "' --csv '" +
              gone + "'",
          "cannot be written");
  EXPECT_FALSE(std::filesystem::exists(store)) << "work had begun";
}

TEST(Outputs, TellAFullDiskFromAMissingFolder) {
  const TemporaryFiles files;
  refuses(files, "run " + quoted_pipeline + " --json /dev/full", "No space left on device");
}

TEST(Outputs, OfADeadProcessLeaveNothing) {
  const TemporaryFiles files;
  const std::string trace = files.path("t.json");
  const Ran ran =
      shell(files, "ulimit -f 1; '" STEPCAST_BINARY "' run " + llama + " --trace '" + trace + "'");
  EXPECT_NE(ran.code, 0) << "the trace is longer than a block";
  for (const auto& entry : std::filesystem::directory_iterator(files.path("")))
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

TEST(Inputs, OfStandardInputAndPipesAreReadOnce) {
  const TemporaryFiles files;
  const std::string file = scenarios + "ideal-pipeline.yaml";
  const std::string whole =
      files.write("s.yaml", "stepcast: 1\nname: s\nextends: '" + file + "'\n");
  for (const char* line : {"validate -", "validate - -", "run -", "scale - --devices 4,8 --strong",
                           "diff - --set training.global_batch=16", "explain -"}) {
    const Ran ran = stepcast_run(files, line, whole);
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  }
  for (const char* line :
       {"validate /dev/stdin", "run /dev/stdin", "scale /dev/stdin --devices 4,8 --strong"}) {
    const Ran ran = shell(files, "(cat '" + whole + "' | '" STEPCAST_BINARY "' " + line + ")");
    EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  }
  refuses(files, "validate '" + files.path("") + "'", "is a directory");
}

TEST(Messages, AreFewShortAndHarmless) {
  const TemporaryFiles files;
  std::string many = "stepcast: 1\n";
  for (int i = 0; i < 500; ++i) many += "key" + std::to_string(i) + ": 1\n";
  const std::string lines = stepcast_run(files, "run '" + files.write("m.yaml", many) + "'").err;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 51) << "50 errors, and how many more";
  EXPECT_NE(lines.find("more errors\n"), std::string::npos);
  const std::string err =
      stepcast_run(files, "run " + quoted_pipeline + " --set 'name=a\x1b[31m'").err;
  EXPECT_EQ(err.find('\x1b'), std::string::npos) << err;
  EXPECT_NE(stepcast_run(files, "run '" + files.path("a\x1b[31m") + "'").err.find("\\x1b[31m"),
            std::string::npos);
  const std::string digits(100'000, '1');
  const Ran long_value =
      stepcast_run(files, "run " + quoted_pipeline + " --set training.global_batch=" + digits);
  EXPECT_EQ(long_value.code, 2);
  EXPECT_LT(long_value.err.size(), 1000U) << long_value.err.substr(0, 300);
}

TEST(Messages, OfErrorsInAChecksFilesGoToStderr) {
  const TemporaryFiles files;
  const std::string bad = files.write("bad.yaml", "stepcast: 1\nname: b\nexpect: {}\n");
  const Ran ran = stepcast_run(files, "check '" + bad + "'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("is missing"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out.find("is missing"), std::string::npos) << ran.out;
}

TEST(Memory, ThatWorkWouldTakeIsToldBeforeIt) {
  const TemporaryFiles files;
  refuses(files, "topology clusters/atlas-800t-a2.yaml --devices 1Mi --dot -",
          "--dot: would draw ");
  refuses(files,
          "run " + quoted_pipeline +
              " --set cluster.devices=1024 --set parallel.pp=1024 "
              "--set training.global_batch=90000",
          "which takes about 8.15 GiB of memory, allowed: at most 20000000 in all");
}

TEST(Memory, ThatIsNotThereIsAMessage) {
  const TemporaryFiles files;
  if (shell(files, "{ ldd '" STEPCAST_BINARY "' | grep -q libasan; }").code == 0)
    GTEST_SKIP() << "sanitizers reserve addresses";
  const Ran ran = shell(files, "ulimit -v 200000; '" STEPCAST_BINARY
                               "' topology "
                               "clusters/atlas-800t-a2.yaml --devices 64Ki --dot -");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("needs more memory than there is"), std::string::npos) << ran.err;
}

TEST(LateChecks, ArePlacedErrorsOfTheReader) {
  const TemporaryFiles files;
  const std::string plan = "plan '" + scenarios + "plans/cheapest-fabric.yaml' --set ";
  refuses(files, plan + "'parallel.order=[tp, pp]'",
          "parallel.order: must name tp, cp, ep, dp, pp");
  refuses(files, plan + "communication.algorithm.all_reduce=pairwise",
          "--set communication.algorithm.all_reduce=pairwise: communication.algorithm.all_reduce");
  const std::string run = "run " + llama + " --set ";
  refuses(files, run + "cluster.device.memory.reserve=100GiB",
          "cluster.device.memory.reserve: is 100 GiB, allowed: less than the capacity");
  refuses(files, run + "'cluster.interval={low: 2, high: 1}'",
          "cluster.interval.high: is 1, allowed: at least low = 2");
  refuses(files, run + "cluster.device.efficiency.matmul.peak=5e-324", "allowed: 1e-06 to 1");
  std::string counts;
  for (int i = 0; i < 192; ++i) counts += "1e308\n";
  refuses(files,
          "run '" + scenarios +
              "telechat3-105b-4096.yaml' --set moe.routing.distribution=file "
              "--set moe.routing.file='" +
              files.write("counts", counts) + "'",
          "which holds '1e308', allowed: 0, or numbers of 1e-09 to 1e+15");
}

}  // namespace
}  // namespace stepcast
