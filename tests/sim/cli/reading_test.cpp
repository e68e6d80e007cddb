#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "shell.hpp"

// How results are read: rows chosen, presets listed, names in full, signs of life.
namespace stepcast {
namespace {

using test::content;
using test::Ran;
using test::scenarios;
using test::shell;
using test::stepcast_run;
using test::TemporaryFiles;
using Json = nlohmann::json;

const std::string sweep =
    "# question: which is best?\nstepcast: 1\nname: s\nsweep:\n  base: " + scenarios +
    "ideal-pipeline.yaml\n  grid:\n    training.global_batch: [8, 4Ki, 64]\n";

TEST(Reading, SweepsAndResultsChooseRows) {
  const TemporaryFiles files;
  const std::string file = files.write("s.yaml", sweep), store = files.path("store");
  const Ran best = stepcast_run(
      files, "sweep '" + file + "' --store '" + store + "' --sort samples_per_s --best 2 --csv -");
  ASSERT_EQ(best.code, 0) << best.err;
  std::istringstream lines{best.out};
  std::string head, first, second, more;
  std::getline(lines, head);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_TRUE(head.ends_with(",training.global_batch")) << head;
  EXPECT_TRUE(first.ends_with(",4096")) << "the longest pipeline is the busiest: " << first;
  EXPECT_TRUE(second.ends_with(",64")) << second;
  EXPECT_FALSE(std::getline(lines, more)) << more;
  const Ran rows = stepcast_run(
      files, "results '" + store + "' --where '\"training.global_batch\" > 64' --json -");
  ASSERT_EQ(rows.code, 0) << rows.err;
  const Json points = Json::parse(rows.out)["points"];
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0]["varied"]["training.global_batch"], 4096);
  EXPECT_EQ(stepcast_run(files, "sweep '" + file + "' --sort mfuu").code, 2);
  EXPECT_EQ(stepcast_run(files, "results '" + store + "' --pareto mfu").code, 2);
  const Ran kept = stepcast_run(files, "sweep '" + file + "' --accept-builds");
  EXPECT_EQ(kept.code, 2);
  EXPECT_NE(kept.err.find("--store"), std::string::npos) << kept.err;
}

TEST(Reading, ListShowsPresetsAndAWrongNameIsAnswered) {
  const TemporaryFiles files;
  const Ran list = stepcast_run(files, "list clusters");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_NE(list.out.find("  clusters/dgx-h100.yaml "), std::string::npos) << list.out;
  EXPECT_EQ(list.out.find("models/"), std::string::npos);
  EXPECT_NE(stepcast_run(files, "list").out.find("models/llama2-7b.yaml"), std::string::npos);
  const auto json = nlohmann::json::parse(stepcast_run(files, "list clusters --json -").out);
  EXPECT_EQ(json["presets"][0]["kind"], "clusters");
  EXPECT_EQ(json["presets"][0]["preset"], "clusters/a100-400g.yaml");
  EXPECT_NE(list.out.find(json["presets"][0]["question"].get<std::string>()), std::string::npos);
  EXPECT_NE(stepcast_run(files, "list cluster").err.find("did you mean clusters?"),
            std::string::npos);
  const Ran near = stepcast_run(files, "topology clusters/dgx-h10.yaml");
  EXPECT_EQ(near.code, 2);
  EXPECT_NE(near.err.find("did you mean clusters/dgx-h100.yaml?"), std::string::npos) << near.err;
  const Ran extended = stepcast_run(
      files,
      "run '" + scenarios + "ideal-pipeline.yaml' --set 'cluster={extends: clusters/idela.yaml}'");
  EXPECT_EQ(extended.code, 2);
  EXPECT_NE(extended.err.find("did you mean clusters/ideal.yaml?"), std::string::npos)
      << extended.err;
}

TEST(Reading, KeysAreFoundByWords) {
  const TemporaryFiles files;
  const Ran tp = stepcast_run(files, "keys tp");
  EXPECT_EQ(tp.code, 0) << tp.err;
  EXPECT_TRUE(tp.out.starts_with("parallel.tp, default 1\n    tensor parallel size\n")) << tp.out;
  const Ran value =
      stepcast_run(files, "keys recompute --in '" + scenarios + "gpt3-175b-dgx-a100.yaml'");
  EXPECT_NE(value.out.find("training.recompute, default none, now selective\n"), std::string::npos)
      << value.out;
  EXPECT_NE(stepcast_run(files, "keys fp8_mixed").out.find("training.precision"),
            std::string::npos);
  EXPECT_EQ(stepcast_run(files, "keys xyzzy").code, 2);
}

// The steps themselves, one pair of each kind of preset; tests/sim/sweep has all pairs.
TEST(Reading, AnotherClusterOrModelIsTheFileWithItsLineEdited) {
  const TemporaryFiles files;
  const auto scenario = [](const std::string& cluster, const std::string& model) {
    return "stepcast: 1\nname: swapped\ncluster: {extends: clusters/" + cluster +
           ".yaml, devices: 8}\nmodel: {extends: models/" + model +
           ".yaml}\nparallel: {tp: 4, pp: 1, dp: auto, ep: 1}\n"
           "training: {sequence: 2048, global_batch: 4, micro_batch: 1}\n"
           "schedule: {pipeline: 1f1b}\n";
  };
  const std::string base = files.write("base.yaml", scenario("dgx-a100", "mixtral-8x7b"));
  const auto result = [&](const std::string& arguments) {
    const Ran ran = stepcast_run(files, "run " + arguments + " --json -");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  for (const auto& [option, cluster, model] :
       {std::tuple{"--cluster dgx-b200", "dgx-b200", "mixtral-8x7b"},
        {"--model llama2-7b", "dgx-a100", "llama2-7b"},
        {"--model llama2-7b --cluster clusters/dgx-b200.yaml", "dgx-b200", "llama2-7b"}})
    EXPECT_EQ(result("'" + base + "' " + option),
              result("'" + files.write("edited/base.yaml", scenario(cluster, model)) + "'"))
        << option;
  const Ran sides =
      stepcast_run(files, "compare '" + base + "' --cluster dgx-b200 --cluster dgx-h100");
  EXPECT_EQ(sides.code, 0) << sides.err;
  EXPECT_NE(sides.out.find("cluster.extends=dgx-h100"), std::string::npos) << sides.out;
}

TEST(Reading, ScriptsAskForWhatTheyLackByName) {
  const TemporaryFiles files;
  const std::string launch =
      files.write("train.sh", "set -u\ntorchrun pretrain_gpt.py --num-layers 2 --bf16 $EXTRA\n");
  const Ran ran =
      stepcast_run(files, "run '" + launch + "' --cluster dgx-h100 --set model.vocab=32000");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--bf16: is followed by EXTRA, which is not set; give --env EXTRA=VALUE"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("model.vocab: is not a known key; did you mean vocabulary?"),
            std::string::npos)
      << ran.err;
}

TEST(Reading, ClustersAndListsGuessWhatWasMeant) {
  const TemporaryFiles files;
  const std::string launch = files.write("train.sh", "torchrun pretrain_gpt.py --num-layers 2\n");
  const Ran cluster = stepcast_run(files, "run '" + launch + "' --cluster dgx-h10");
  EXPECT_EQ(cluster.code, 2);
  EXPECT_NE(cluster.err.find("did you mean clusters/dgx-h100.yaml?"), std::string::npos)
      << cluster.err;
  const Ran part = stepcast_run(files, "list b200"), near = stepcast_run(files, "list dgx-h10");
  EXPECT_NE(part.out.find("clusters/dgx-b200.yaml"), std::string::npos) << part.out;
  EXPECT_EQ(part.out.find("clusters/dgx-h100.yaml"), std::string::npos) << part.out;
  EXPECT_NE(near.out.find("clusters/dgx-h100.yaml"), std::string::npos) << near.out;
  const Ran typed = stepcast_run(files, "list dgx-h001");
  EXPECT_EQ(typed.code, 2);
  EXPECT_NE(typed.err.find("did you mean dgx-h100?"), std::string::npos) << typed.err;
}

TEST(Reading, PhasesOfARunAreLoggedWhenAskedFor) {
  const TemporaryFiles files;
  const std::string run = "run '" + scenarios + "llama2-7b-8.yaml'";
  const Ran plain = stepcast_run(files, run), verbose = stepcast_run(files, "-v " + run);
  EXPECT_EQ(plain.out, verbose.out);
  for (const char* phase :
       {"reading", "lowering the model to programs", "building the network of the job",
        "folding ranks", "planning collectives and links", "replaying the step",
        "counting memory, FLOPs and times", "writing the report"})
    EXPECT_NE(verbose.err.find(std::string("debug: ") + phase + " took "), std::string::npos)
        << verbose.err;
  EXPECT_NE(verbose.err.find(": 8 ranks are 1 kinds\n"), std::string::npos) << verbose.err;
  EXPECT_EQ(plain.err.find(" took "), std::string::npos) << plain.err;
}

TEST(Reading, AWholeNumberTakesNoThousand) {
  const TemporaryFiles files;
  const std::string run = "run '" + scenarios + "ideal-pipeline.yaml' --set training.global_batch=";
  const Ran refused = stepcast_run(files, run + "8k");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("allowed: 8000 or 8Ki"), std::string::npos) << refused.err;
  EXPECT_EQ(stepcast_run(files, run + "8Ki").code, 0);
}

TEST(Reading, MfuSaysOfWhichPeak) {
  const TemporaryFiles files;
  const Ran ran = stepcast_run(
      files, "run '" + scenarios + "llama2-7b-8.yaml' --json '" + files.path("r.json") + "'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("(BF16, FP16 peak), HFU"), std::string::npos) << ran.out;
  const Json result = Json::parse(content(files.path("r.json")))["result"];
  const double peak = result["mfu_peak_flops_per_s"], tera = result["tflops_per_device"];
  EXPECT_NEAR(tera * 1e12 / peak, result["mfu"].get<double>(), 1e-12);
}

TEST(Reading, ProgressIsOnStderrAndOnlyWhenAskedFor) {
  const TemporaryFiles files;
  const std::string explain = "explain '" + scenarios + "ideal-pipeline.yaml' -j 2";
  const Ran plain = stepcast_run(files, explain), verbose = stepcast_run(files, "-v " + explain);
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(plain.out, verbose.out);
  EXPECT_NE(verbose.err.find("explain, running the step alone: "), std::string::npos)
      << verbose.err;
  EXPECT_NE(verbose.err.find("/s, 0 s left"), std::string::npos) << verbose.err;
}

TEST(Reading, APlanThatIsKilledGoesOnToTheSameBytes) {
  const TemporaryFiles files;
  const std::string file =
      files.write("p.yaml",
                  "# question: which?\nstepcast: 1\nname: p\ncluster: {extends: "
                  "clusters/atlas-800t-a2.yaml, devices: "
                  "16}\nmodel: {extends: models/llama2-7b.yaml}\nparallel: {tp: [1, 2, 4], pp: [2, "
                  "4], vpp: [1, 2]}\n"
                  "training: {sequence: 4096, global_batch: 16, micro_batch: 1}\n"
                  "schedule: {pipeline: [1f1b, interleaved_1f1b]}\nplan: {top: 6, simulations: 8, "
                  "placements: 0}\n");
  const std::string plan =
      std::string("'") + STEPCAST_BINARY + "' plan '" + file + "' -j 2 --json -";
  const Ran whole = shell(files, plan);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string kept = plan + " --store '" + files.path("store") + "'";
  for (const char* after : {"0.02", "0.05", "0.1", "0.2"})
    shell(files, std::string("timeout -s KILL ") + after + " " + kept);
  EXPECT_EQ(shell(files, kept).out, whole.out);
  const Ran again = shell(files, kept);
  EXPECT_EQ(again.out, whole.out) << "all answers come from the store";
  EXPECT_EQ(shell(files, plan + " --store '" + file + "'").code, 2) << "no store of a search";
}

TEST(Reading, ALaunchFromStandardInputIsAScenario) {
  const TemporaryFiles files;
  const std::string launch =
      files.write("train.sh",
                  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 1024 "
                  "--num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
                  "--micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 32000\n");
  const std::string import = std::string("'") + STEPCAST_BINARY +
                             "' import - --devices 8 --cluster clusters/dgx-h100.yaml";
  const Ran ran = shell(files, import, launch);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("\nname: imported "), std::string::npos) << ran.out;
}

TEST(Reading, AClusterBesideLaunchFilesIsThatOfAllSides) {
  const TemporaryFiles files;
  const auto script = [&](const char* name, const char* tensor) {
    return files.write(name,
                       std::string("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 "
                                   "--hidden-size 1024 --num-attention-heads 8 --seq-length 1024 "
                                   "--max-position-embeddings 1024 --micro-batch-size 1 "
                                   "--global-batch-size 8 --bf16 --vocab-size 32000 "
                                   "--tensor-model-parallel-size ") +
                           tensor + "\n");
  };
  const std::string one = script("one.sh", "1"), two = script("two.sh", "2");
  for (const std::string& rest : {" '" + two + "' --cluster dgx-h100",
                                  std::string(" --cluster dgx-h100 --set parallel.tp=2")})
    for (const char* command : {"diff '", "compare '"}) {
      const Ran ran = stepcast_run(files, command + one + "'" + rest);
      ASSERT_EQ(ran.code, 0) << ran.err;
      EXPECT_NE(ran.out.find("parallel.tp"), std::string::npos) << ran.out;
    }
  EXPECT_NE(
      stepcast_run(files, "compare '" + one + "' --cluster dgx-h100").err.find("B: is missing"),
      std::string::npos);
}

}  // namespace
}  // namespace stepcast
