#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shell.hpp"
#include "sim/small_scenario.hpp"

// `--seeds` of run and scale, as a shell sees it.
namespace stepcast {
namespace {

using nlohmann::json;

class SeedsCli : public ::testing::Test {
 protected:
  void SetUp() override { scenario = files.write("s.yaml", test::small_scenario); }
  test::Ran ran(const std::string& arguments) const { return test::stepcast_run(files, arguments); }
  test::TemporaryFiles files;
  std::string scenario;
  static constexpr const char* changing =
      " --set 'moe={routing: {distribution: zipf, lifetime: 4}, placement: balanced, relocation: "
      "{every: 2}}'";
  static constexpr const char* spread =
      " --set 'stalls={spread: {device: {sigma: 0.02}, seed: 3}}'";
};

TEST_F(SeedsCli, RunGivesQuantilesBesideTheScenariosOwnSeed) {
  const test::Ran one = ran("run " + scenario + spread + " --json -");
  ASSERT_EQ(one.code, 0) << one.err;
  const test::Ran many = ran("run " + scenario + spread + " --seeds 5 --json -");
  ASSERT_EQ(many.code, 0) << many.err;
  const json own = json::parse(one.out)["result"], result = json::parse(many.out)["result"];
  EXPECT_EQ(own["step_time_s"], result["step_time_s"]);
  EXPECT_FALSE(own.contains("seeds"));
  const json& seeds = result["seeds"];
  EXPECT_EQ(seeds["count"], 5);
  EXPECT_EQ(seeds["first"], 3);
  for (const char* of : {"step_time_s", "tokens_per_s", "efficiency"}) {
    EXPECT_LE(seeds[of]["p10"], seeds[of]["p50"]) << of;
    EXPECT_LE(seeds[of]["p50"], seeds[of]["p90"]) << of;
    EXPECT_GT(seeds[of]["mean"], 0) << of;
  }
  EXPECT_LT(seeds["efficiency"]["p90"], 1);
  EXPECT_EQ(result["interval"]["spread"]["low_s"], seeds["step_time_s"]["p10"]);
  EXPECT_TRUE(result["interval"]["model"].is_null());
  const auto engine = [&](const char* set) {
    const std::string run = "run " + scenario + spread + " --set " + set + " --json -";
    return json::parse(ran(run).out)["engine"];
  };
  const json folded = engine("communication.gradient.overlap=false");
  EXPECT_EQ(folded["fold"], "worst_replicas(8)");
  EXPECT_GE(folded["fold_error"], 0);
  // Short steps whose reductions run beside units are not folded.
  EXPECT_EQ(engine("communication.gradient.overlap=true")["fold"], "off");
  EXPECT_EQ(engine("simulate.fold=off")["fold"], "off");
}

TEST_F(SeedsCli, LoadStepsStandBesideTheScenariosOwnStep) {
  const std::string run = "run " + scenario + changing;
  const test::Ran one = ran(run + " --json -"), many = ran(run + " --load-steps 5 --json -");
  ASSERT_EQ(many.code, 0) << many.err;
  const json own = json::parse(one.out)["result"], result = json::parse(many.out)["result"];
  EXPECT_EQ(own["step_time_s"], result["step_time_s"]);
  EXPECT_FALSE(own.contains("load_steps"));
  const json& steps = result["load_steps"];
  EXPECT_EQ(steps["count"], 5);
  EXPECT_EQ(steps["first"], 0);
  EXPECT_EQ(steps["relocation"]["times"], 2);
  EXPECT_LE(steps["step_time_s"]["p10"], steps["step_time_s"]["p90"]);
  EXPECT_GE(steps["rank_max_over_mean"]["p10"], 1);
  EXPECT_EQ(steps["gain"].get<double>(),
            steps["skewed_step_time_s"].get<double>() / steps["step_time_s"]["mean"].get<double>());
  EXPECT_EQ(ran(run + " --load-steps 5 --json -").out, many.out);
  EXPECT_NE(ran(run + " --load-steps 5").out.find("relocation"), std::string::npos);
}

TEST_F(SeedsCli, SeedsHaveTheBitsOfTheirOwnRuns) {
  const std::string shipped = STEPCAST_SOURCE_DIR "/scenarios/llama2-7b-8.yaml";
  for (const std::string& file : {scenario, shipped}) {
    // The fleet is drawn for seeds; a run of its own has its expectation.
    const std::string run = "run " + file +
                            " --set stalls.compute_jitter.sigma=0.01 --set cluster.fleet=flawless"
                            " --json - ";
    const test::Ran many = ran(run + "--seeds 9");
    ASSERT_EQ(many.code, 0) << many.err;
    const json seeds = json::parse(many.out)["result"]["seeds"];
    std::vector<double> own;
    for (int seed = seeds["first"]; seed < seeds["first"].get<int>() + 9; ++seed) {
      const test::Ran one = ran(run + "--set stalls.compute_jitter.seed=" + std::to_string(seed));
      own.push_back(json::parse(one.out)["result"]["step_time_s"]);
    }
    std::ranges::sort(own);
    EXPECT_EQ(seeds["step_time_s"]["p10"], own[0]) << file;
    EXPECT_EQ(seeds["step_time_s"]["p50"], own[4]) << file;
    EXPECT_EQ(seeds["step_time_s"]["p90"], own[8]) << file;
  }
}

TEST_F(SeedsCli, ScaleGivesABandWhateverTheNumberOfProcesses) {
  const std::string scale = "scale " + scenario + spread + " --devices 16,32 --seeds 4";
  const test::Ran one = ran(scale + " -j 1 --json -"), two = ran(scale + " -j 2 --json -");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  for (const json& point : json::parse(one.out)["points"]) {
    EXPECT_EQ(point["seeds"], 4);
    EXPECT_LE(point["step_time_p10_s"], point["step_time_p90_s"]);
    EXPECT_LE(point["scaling_efficiency_p10"], point["scaling_efficiency_p90"]);
  }
  EXPECT_EQ(json::parse(one.out)["points"][0]["scaling_efficiency"], 1);
  EXPECT_NE(ran(scale + " --svg -").out.find("<polygon"), std::string::npos);
}

// A store does not take one seed for four.
TEST_F(SeedsCli, StoresKeyOnSeeds) {
  const std::string scale =
      "scale " + scenario + spread + " --devices 16,32 --store " + files.path("s.sqlite");
  const test::Ran plain = ran(scale + " --json -");
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_TRUE(json::parse(plain.out)["points"][0]["seeds"].is_null());
  for (int again = 0; again < 2; ++again) {
    const test::Ran seeds = ran(scale + " --seeds 3 --json -");
    ASSERT_EQ(seeds.code, 0) << seeds.err;
    EXPECT_EQ(json::parse(seeds.out)["points"][0]["seeds"], 3);
  }
  EXPECT_EQ(ran(scale + " --json -").out, plain.out);
}

TEST_F(SeedsCli, RecordingsShowTheMedianSeedAndSaySo) {
  const test::Ran shown =
      ran("run " + scenario + spread + " --seeds 3 --trace " + files.path("t.json"));
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("shows seed "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("the median of 3"), std::string::npos) << shown.out;
}

TEST_F(SeedsCli, RefusesWhatMeansNothing) {
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const test::Ran r = ran(arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_NE(r.err.find(why), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  };
  refused("run " + scenario + spread + " --seeds 0", "--seeds");
  refused("run " + scenario + spread + " --seeds 10001", "--seeds");
  refused("run " + scenario + " --seeds 4", "nothing is drawn");
  refused("scale " + scenario + " --devices 16,32 --seeds 4", "nothing is drawn");
  files.write("empty.txt", "# no factor\n");
  refused("run " + scenario + " --set 'stalls.spread.device={law: empirical, file: " +
              files.path("empty.txt") + "}'",
          "holds no factor");
  files.write("bad.txt", "1.0\nnan\n0\n");
  refused("run " + scenario +
              " --set 'stalls.spread.device={law: empirical, file: " + files.path("bad.txt") + "}'",
          "bad.txt:3:1");
  refused("run " + scenario + " --load-steps 3", "the same in every step");
  refused("run " + scenario + changing + " --load-steps 0", "--load-steps");
  // before anything is written
  const std::string graph = files.path("graph.json");
  refused("run " + scenario + changing + " --load-steps 0 --graph " + graph, "--load-steps");
  EXPECT_FALSE(std::filesystem::exists(graph));
  const std::string explain = "explain " + scenario;
  refused(explain + " --devices 32,16", "the smaller size first");
  refused(explain + " --devices 16", "two sizes such as 256,4096");
  refused(explain + " --devices 16,32 --seeds 3", "nothing is drawn");
  refused(explain + " --devices 16,32 --svg a.svg", "draws nothing");
  refused(explain + " --strong", "give --devices");
  refused("run " + std::string(STEPCAST_SOURCE_DIR) +
              "/scenarios/ideal-pipeline.yaml --set stalls.spread.device.sigma=0.01",
          "no device");
}

}  // namespace
}  // namespace stepcast
