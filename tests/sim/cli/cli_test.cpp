#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "shell.hpp"

// The binary as a shell sees it: exit codes, stderr, and the files it writes.
namespace stepcast {
namespace {

namespace fs = std::filesystem;

using test::content;
using test::Ran;
using test::stepcast_run;

const std::string pipeline = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/ideal-pipeline.yaml";
const std::string gather = "collective all_gather --cluster clusters/ideal.yaml --ranks 4 ";

std::size_t entries(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{directory}, fs::directory_iterator{}));
}

TEST(Cli, JsonReplacesAFileAtOnceAndFollowsLinks) {
  const test::TemporaryFiles files;
  const std::string target = files.write("results/real.json", "old");
  const std::string link = files.path("results/link.json");
  fs::create_symlink("real.json", link);
  const Ran ran = stepcast_run(files, "run '" + pipeline + "' --json '" + link + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(nlohmann::json::parse(content(target)).contains("result"));
  EXPECT_EQ(entries(files.path("results")), 2U) << "nothing is left beside the result";
  EXPECT_EQ(stepcast_run(files, "run '" + pipeline + "' --json -").out, content(target));
}

TEST(Cli, GoodputIsReportedWhereAsked) {
  const test::TemporaryFiles files;
  const auto result = [&](const std::string& stalls) {
    const Ran ran =
        stepcast_run(files, "run '" + pipeline + "' --set 'stalls=" + stalls + "' --json -");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["result"];
  };
  EXPECT_FALSE(result("none").contains("goodput"));
  EXPECT_FALSE(result("{host_sync: step}").contains("reliability"));
  const std::string checkpoint = "checkpoint: {every_steps: 500, blocking_time: 30s}";
  const std::string failures = "failures: {device_mtbf: 50000h, restart: 15min}";
  const auto both = result("{" + checkpoint + ", " + failures + "}");
  EXPECT_GT(both["goodput"], 0);
  EXPECT_LT(both["goodput"], 1);
  EXPECT_GE(both["reliability"]["goodput_at_optimum"], both["goodput"]);
  EXPECT_EQ(both["reliability"]["checkpoint_interval_s"], 500 * both["step_time_s"].get<double>());
  for (const char* key : {"cluster_mtbf_s", "optimal_interval_s", "optimal_every_steps"})
    EXPECT_GT(both["reliability"][key], 0) << key;
  const auto saved = result("{" + checkpoint + "}");
  EXPECT_GT(saved["goodput"], 0);
  EXPECT_TRUE(saved["reliability"]["cluster_mtbf_s"].is_null());
  EXPECT_TRUE(saved["reliability"]["optimal_every_steps"].is_null());
  const auto timed = result("{checkpoint: {every: 1h, blocking_time: 30s}}");
  const double step = timed["step_time_s"];
  EXPECT_EQ(timed["reliability"]["checkpoint_steps"], std::ceil(3600 / step));
  EXPECT_EQ(timed["step_time_s"], saved["step_time_s"]);
  const Ran within = stepcast_run(
      files,
      "run '" + pipeline + "' --set 'stalls.checkpoint={every: 1us, blocking_time: 30s}' --json -");
  EXPECT_EQ(within.code, 2);
  EXPECT_NE(within.err.find("stalls.checkpoint.every: is 1.00 us, within the "), std::string::npos)
      << within.err;
  const Ran two = stepcast_run(
      files, "run '" + pipeline +
                 "' --set 'stalls.checkpoint={every: 1h, every_steps: 5, blocking_time: 30s}'");
  EXPECT_EQ(two.code, 2);
  EXPECT_NE(two.err.find("every"), std::string::npos) << two.err;
  const auto fails = result("{" + failures + "}");
  EXPECT_TRUE(fails["goodput"].is_null());
  EXPECT_GT(fails["reliability"]["cluster_mtbf_s"], 0);
  const std::string table =
      stepcast_run(files, "run '" + pipeline + "' --set 'stalls={" + checkpoint + "}'").out;
  EXPECT_NE(table.find("  goodput"), std::string::npos);
  EXPECT_NE(table.find("checkpoint every 500 steps"), std::string::npos);
}

TEST(Cli, JsonToAPipeLeavesThePipe) {
  const test::TemporaryFiles files;
  const std::string pipe = files.path("pipe"), copy = files.path("copy");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string read = "timeout 60 cat '" + pipe + "' >'" + copy + "' & ";
  ASSERT_EQ(std::system((read + "timeout 60 '" + STEPCAST_BINARY + "' run '" + pipeline +
                         "' --json '" + pipe + "' >'" + files.path("out") + "'; wait")
                            .c_str()),
            0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(nlohmann::json::accept(content(copy)));
}

TEST(Cli, WrongUseExitsWithTwoAndSaysWhatIsWrong) {
  const test::TemporaryFiles files;
  const std::string gone = files.path("gone");
  const struct {
    std::string arguments, says;
  } rows[] = {
      {"run '" + gone + "'", "does not exist"},
      {"run '" + pipeline + "' --json '" + gone + "/x'", "cannot be written"},
      {"run '" + pipeline + "' --presets '" + gone + "'", "is no folder"},
      {"predict", "predict: is no command or option"},
      {"--sets", "--sets: is no command or option"},
      {"valdate x.yaml", "valdate: is no command or option; did you mean validate?"},
      {"version", "did you mean --version?"},
      {"run '" + pipeline + "' --tp 4",
       "--tp: is no option of this command; did you mean --set "
       "parallel.tp=VALUE?"},
      {"keys gpu memory", "'gpu' is in no key; did you mean device"},
      {"list models llama nothing", "NAME: is 'nothing'"},
      {"topology clusters/ideal.yaml --devices 0", "is 0, allowed: 1 to 1048576"},
      {"topology clusters/ideal.yaml --devices -8", "is -8, allowed: 1 to 1048576"},
      {"run ''", "file name: is empty"},
      {"topology ''", "file name: is empty"},
      {"model ''", "file name: is empty"},
      {"run '" + pipeline + "' --json ''", "--json: is empty"},
      {"topology clusters/ideal.yaml --dot ''", "--dot: is empty"},
      {"topology clusters/ideal.yaml --dot - --json -", "--dot: and --json are both -"},
      {"topology clusters/atlas-800t-a2.yaml --devices 7", "--devices: is 7, must be"},
      {gather + "--size 1MiB --algorithm foo", "--algorithm: is 'foo', allowed: auto, ring, mesh"},
      {gather + "--size 1MiB --algorithm tree",
       "--algorithm: is tree, which makes no all_gather of these 4 ranks, allowed: auto, ring"},
      {gather + "--size 1MiB --stride 1.5", "--stride: is '1.5', allowed: a whole number"},
      {"collective all_gather --cluster clusters/ideal.yaml --ranks 1 --size 1MiB",
       "--ranks: is '1', allowed: a whole number such as 8 or 4Ki, 2 to"},
      {"model models/llama2-7b.yaml --sequence 0", "--sequence: is '0', allowed: a whole number"},
      {"run clusters/ideal.yaml", "is a cluster file, give a scenario; stepcast topology shows it"},
      {"validate clusters/ideal.yaml --set devices=8", "is a cluster file, --set is for scenarios"},
      {"validate '" + pipeline + "' --set parallel.pp=x", "parallel.pp: is 'x'"},
      {"schedule 2f2b --pp 4 --micro-batches 8", "SCHEDULE: is '2f2b', allowed: gpipe, 1f1b,"},
      {"schedule 1f1b --micro-batches 8", "--pp: is missing"},
      {"schedule 1f1b --pp 8", "--micro-batches: is missing"},
      {"schedule '" + gone + ".yaml'", "does not exist"},
      {"schedule x.yaml --vpp 2", "--vpp: is for schedules by name, a file of orders says its own"},
      {"schedule 1f1b --pp 0 --micro-batches 8", "--pp: is '0', allowed: a whole number"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --vpp 2", "SCHEDULE: 1f1b runs one chunk"},
      {"schedule zb_v --pp 4 --micro-batches 7", "got 7 on 4 stages, allowed: 8 or more"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --warmup fast",
       "--warmup: is 'fast', allowed: standard, extra(n), less_memory"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --warmup 'extra(0)'", "--warmup extra: is '0'"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --warmup 'extra(1)'", "allowed: warmup standard"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --group 4",
       "--group: means nothing to 1f1b, allowed: with interleaved_1f1b"},
      {"schedule zb_v --pp 4 --micro-batches 8 --put-off 3",
       "--put-off: means nothing to zb_v, allowed: with zb_h1, zb_h2"},
      {"schedule zb_v --pp 4 --micro-batches 8 --pair 2", "allowed: with dualpipe, dualpipe_v"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --costs 1,1", "--costs: is '1,1', allowed: three"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --costs 1,0,1",
       "--costs: is '0', allowed: a number"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --costs 1,nan,1", "--costs: is 'nan', allowed"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --latency -1", "--latency: is '-1', allowed"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --width 10", "--width: is '10', allowed"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --svg - --json -", "--svg: and --json are both -"},
      {"schedule 1f1b --pp 4 --micro-batches 8 --svg ''", "--svg: is empty"},
      {"schedule 1f1b --pp 1Mi --micro-batches 1Mi", "forwards on all stages, allowed: at most"},
      {"schedule 1f1b --pp 256 --micro-batches 1Ki --svg -",
       "524288 units, allowed: at most 65536"},
      {gather + "--size 1MiB --network both", "--network: is 'both', allowed: ports, pairwise"},
      {"collective all_to_all --cluster clusters/atlas-800t-a2.yaml --devices 2048 --ranks 1025 "
       "--size 1GiB --network pairwise --algorithm pairwise",
       "--network: is pairwise, but pairwise of 1025 ranks has a step of more than 1048576 "
       "messages, allowed: ports, or fewer ranks"},
      {gather + "--size 64", "is '64', allowed: a size such as 64MiB"},
      {gather + "--size 1e300MiB", "is '1e300MiB', allowed: a size such as 64MiB"},
  };
  for (const auto& [arguments, says] : rows) {
    const Ran ran = stepcast_run(files, arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find(says), std::string::npos) << arguments << "\n" << ran.err;
    EXPECT_LT(ran.err.size(), 600U) << arguments;
  }
}

TEST(Cli, DevicesTakeThePrefixesOfCounts) {
  const test::TemporaryFiles files;
  const Ran ran = stepcast_run(files, "topology clusters/ideal.yaml --devices 1Ki");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("1024 devices"), std::string::npos) << ran.out;
}

TEST(Cli, CountsTakePrefixes) {
  const test::TemporaryFiles files;
  const Ran group = stepcast_run(files,
                                 "collective all_reduce --cluster clusters/atlas-800t-a2.yaml "
                                 "--devices 1Ki --ranks 0.125Ki --stride 0.0078125Ki --size 1MiB");
  EXPECT_NE(group.out.find("over 128 ranks (stride 8)"), std::string::npos) << group.err;
  const Ran model = stepcast_run(files, "model models/llama2-7b.yaml --sequence 4Ki");
  EXPECT_NE(model.out.find("at 4096 tokens"), std::string::npos) << model.err;
}

TEST(Cli, ValidateTakesOverrides) {
  const test::TemporaryFiles files;
  const std::string job = "validate '" + pipeline + "' --set ";
  EXPECT_EQ(stepcast_run(files, job + "name=other").code, 0);
  EXPECT_EQ(stepcast_run(files, job + "nothing=1").code, 2);
  EXPECT_EQ(stepcast_run(files, "validate --set name=other '" + pipeline + "'").code, 0);
  EXPECT_EQ(stepcast_run(files, "run --set name=other --set name=x '" + pipeline + "'").code, 0);
}

nlohmann::json json_of(const test::TemporaryFiles& files, const std::string& command) {
  const Ran ran = stepcast_run(files, command + " --json -");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string table = stepcast_run(files, command).out;
  EXPECT_EQ(stepcast_run(files, command + " --json '" + files.path("x") + "'").out, table);
  EXPECT_EQ(content(files.path("x")), ran.out);
  return nlohmann::json::parse(ran.out);
}

TEST(Cli, JsonHoldsTheNumbersOfTheTable) {
  const test::TemporaryFiles files;
  const auto fabric = json_of(files, "topology clusters/atlas-800t-a2.yaml --devices 16");
  EXPECT_EQ(fabric["devices"], 16);
  EXPECT_EQ(fabric["nodes"], 2);
  EXPECT_DOUBLE_EQ(fabric["bisection_bytes_per_s_per_device"].get<double>() * 8,
                   fabric["bisection_bytes_per_s"].get<double>());
  const auto routes = fabric["routes"];
  EXPECT_EQ(routes[0]["device"], 1);
  EXPECT_EQ(routes[0]["locality"], "node");
  for (std::size_t i = 1; i < routes.size(); ++i)
    EXPECT_GT(routes[i]["links"].size(), routes[i - 1]["links"].size());
  const auto time = json_of(files,
                            "collective all_reduce --cluster clusters/atlas-800t-a2.yaml "
                            "--devices 16 --ranks 16 --size 1MiB");
  EXPECT_EQ(time["bytes"], 1 << 20);
  EXPECT_EQ(time["algorithms"][0]["algorithm"], "auto");
  EXPECT_FALSE(time["algorithms"][0].contains("pairwise_time_s"));
  for (const auto& row : time["algorithms"]) {
    const double algbw = row["algbw_bytes_per_s"];
    EXPECT_DOUBLE_EQ(algbw * row["time_s"].get<double>(), 1 << 20);
    EXPECT_DOUBLE_EQ(row["busbw_bytes_per_s"].get<double>(), algbw * 2 * 15 / 16);
    EXPECT_GE(row["time_s"], time["bound"]["time_s"]);
  }
  const auto pairs = json_of(files,
                             "collective all_reduce --cluster clusters/atlas-800t-a2.yaml "
                             "--devices 16 --ranks 16 --size 1MiB --network pairwise");
  for (const auto& row : pairs["algorithms"]) {
    const double ports = row["time_s"];
    EXPECT_NEAR(row["pairwise_time_s"].get<double>(), ports, 1e-9 * ports) << row["algorithm"];
  }
  const auto model = json_of(files, "model models/llama2-7b.yaml --sequence 2048");
  EXPECT_EQ(model["sequence"], 2048);
  EXPECT_DOUBLE_EQ(model["parameters"]["total"].get<double>(), 6738415616.0);
}

TEST(Cli, ScheduleDrawsAndTimesAnOrder) {
  const test::TemporaryFiles files;
  const std::string job = "schedule zb_h1 --pp 4 --micro-batches 8";
  const auto times = json_of(files, job);
  EXPECT_EQ(times["makespan"], 27);
  EXPECT_EQ(times["group"], nullptr);
  EXPECT_EQ(times["stages"].size(), 4U);
  EXPECT_EQ(times["stages"][3]["peak_in_flight"], 4);
  EXPECT_EQ(times["stages"][3]["units"][1]["unit"], "b0");
  EXPECT_EQ(times["stages"][3]["units"][1]["start"], 4);
  EXPECT_NEAR(json_of(files, job + " --latency 0.1")["makespan"].get<double>(), 28.2, 1e-9);
  EXPECT_EQ(json_of(files, job + " --costs 2,2,2")["makespan"], 54);
  const std::string table = stepcast_run(files, job + " --orders").out;
  EXPECT_NE(table.find("makespan              27"), std::string::npos) << table;
  EXPECT_NE(table.find("stage 0: F0 F1 F2 F3 b0 w0 F4"), std::string::npos) << table;
  const Ran drawn = stepcast_run(files, job + " --svg '" + files.path("x.svg") + "'");
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_NE(content(files.path("x.svg")).find("<title>w7: 26 to 27</title>"), std::string::npos);
  EXPECT_EQ(stepcast_run(files, job + " --svg -").out, content(files.path("x.svg")));
}

TEST(Cli, ScheduleReadsAFileOfOrders) {
  const test::TemporaryFiles files;
  const std::string table = files.write("own.yaml",
                                        "stepcast: 1\nmicro_batches: 2\norders:\n"
                                        "  - F0 F1 B0 B1\n  - F0 B0 F1 b1 w1\n");
  const auto times = json_of(files, "schedule '" + table + "'");
  EXPECT_EQ(times["makespan"], 8);
  EXPECT_EQ(times["pp"], 2);
  const Ran stuck = stepcast_run(
      files, "schedule '" +
                 files.write("stuck.yaml", "stepcast: 1\nmicro_batches: 1\norders: [B0 F0]\n") +
                 "'");
  EXPECT_EQ(stuck.code, 2);
  EXPECT_NE(stuck.err.find("orders: the stages wait for each other: stage 0 at B0 needs F0"),
            std::string::npos)
      << stuck.err;
}

TEST(Cli, ScheduleTakesItsOptions) {
  const test::TemporaryFiles files;
  const std::string job = " --pp 4 --micro-batches 8 ";
  const auto makespan = [&](const std::string& rest) {
    return json_of(files, "schedule " + rest)["makespan"].get<double>();
  };
  EXPECT_NEAR(makespan("interleaved_1f1b" + job + "--group 8 --latency 0.1"), 57.6, 1e-9);
  EXPECT_NEAR(makespan("interleaved_1f1b" + job + "--warmup less_memory --latency 0.1"), 60, 1e-9);
  EXPECT_NEAR(makespan("interleaved_1f1b" + job + "--vpp 3"), 81, 1e-9);
  EXPECT_NEAR(makespan("seqsmartvpp" + job + "--slices 2 --latency 0.1"), 110.2, 1e-9);
  const auto put_off = [&](const std::string& rest) {
    const std::string costly = "schedule zb_h2 --pp 4 --micro-batches 28 --costs 1,1,0.5 ";
    return json_of(files, costly + rest)["stages"][0]["idle_inside"].get<double>();
  };
  EXPECT_NEAR(put_off(""), 3, 1e-9);
  EXPECT_NEAR(put_off("--put-off 3"), 1.5, 1e-9);
  EXPECT_NEAR(put_off("--put-off 4"), 0, 1e-9);
  const auto extra = json_of(files, "schedule interleaved_1f1b" + job + "--warmup 'extra(1)'");
  EXPECT_EQ(extra["stages"][0]["peak_in_flight"], 12);
  EXPECT_EQ(extra["group"], 4);
  EXPECT_LT(makespan("dualpipe_v" + job + "--pair 2.5"), 54);
}

TEST(Cli, FailOnOomExitsWithOne) {
  const test::TemporaryFiles files;
  const std::string job = std::string("run '") + STEPCAST_SOURCE_DIR +
                          "/scenarios/llama2-7b-8.yaml' "
                          "--set cluster.device.memory.capacity=7GiB";
  EXPECT_EQ(stepcast_run(files, job).code, 0);
  const Ran failing = stepcast_run(files, job + " --fail-on-oom");
  EXPECT_EQ(failing.code, 1);
  EXPECT_NE(failing.err.find("does not fit"), std::string::npos) << failing.err;
}

TEST(Cli, PresetsLieBesideTheProgram) {
  const test::TemporaryFiles files;
  const std::string program = files.write("moved/bin/stepcast", "");
  fs::copy_file(STEPCAST_BINARY, program, fs::copy_options::overwrite_existing);
  fs::permissions(program, fs::perms::owner_all);
  files.write("moved/share/stepcast/clusters/only-here.yaml",
              "extends: clusters/ideal.yaml\nname: only-here\n");
  const test::Ran ran = test::shell(files, "'" + program + "' topology clusters/only-here.yaml");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("only-here"), std::string::npos);
  EXPECT_EQ(test::stepcast_run(files, "topology clusters/only-here.yaml").code, 2);
}

/// SimGrid is no part of the program, so commands that need it miss it, and others do not.
TEST(Cli, ModulesLieBesideTheProgram) {
  const test::TemporaryFiles files;
  const std::string program = files.write("moved/bin/stepcast", "");
  fs::copy_file(STEPCAST_BINARY, program, fs::copy_options::overwrite_existing);
  fs::permissions(program, fs::perms::owner_all);
  const std::string run =
      "'" + program + "' run '" + STEPCAST_SOURCE_DIR +
      "/scenarios/telechat3-36b-2048.yaml' --set simulate.sharing=simgrid --json -";
  const test::Ran missing = test::shell(files, run);
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("moved/lib/stepcast/simgrid.so: does not exist"), std::string::npos)
      << missing.err;
  EXPECT_EQ(test::shell(files, "'" + program + "' --version").code, 0);
  const test::Ran unneeded =
      test::shell(files, "'" + program + "' scale '" + STEPCAST_SOURCE_DIR +
                             "/scenarios/ideal-pipeline.yaml' --devices 4,8 --strong");
  EXPECT_EQ(unneeded.code, 0) << "many runs of which none asks for SimGrid: " << unneeded.err;
  const std::string module = files.write("moved/lib/stepcast/simgrid.so", "");
  fs::copy_file(fs::path(STEPCAST_BINARY).parent_path() / "lib/stepcast/simgrid.so", module,
                fs::copy_options::overwrite_existing);
  const test::Ran moved = test::shell(files, run);
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_NE(moved.out.find("\"flows\""), std::string::npos);
}

}  // namespace
}  // namespace stepcast
