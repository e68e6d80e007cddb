#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "shell.hpp"

// First steps: a first file, what there is to choose from, and what a device will show.
namespace stepcast {
namespace {

using test::Ran;
using test::stepcast_run;
using test::TemporaryFiles;

TEST(New, WritesAFileThatRunsAndFits) {
  const TemporaryFiles files;
  const std::string file = files.path("first.yaml");
  const std::string command =
      "new --model llama2-7b --cluster dgx-h100 --devices 8 --output '" + file + "'";
  const Ran made = stepcast_run(files, command);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find("written; stepcast run"), std::string::npos) << made.out;
  const Ran ran = stepcast_run(files, "run '" + file + "' --json -");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(nlohmann::json::parse(ran.out)["result"]["fits_memory"].get<bool>());
  const Ran again = stepcast_run(files, command);
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("exists, allowed: a new file"), std::string::npos) << again.err;
}

TEST(New, SaysWhatFitsInsteadAndWhatANameMeans) {
  const TemporaryFiles files;
  const auto error = [&](const std::string& arguments) {
    const Ran ran = stepcast_run(files, "new " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    return ran.err;
  };
  EXPECT_NE(error("--model kimi-k2 --cluster dgx-h100 --devices 8").find("no plan of kimi-k2 fits"),
            std::string::npos);
  EXPECT_NE(
      error("--model llama2-7b --cluster 910c --devices 16").find("did you mean atlas-900-a3"),
      std::string::npos);
  EXPECT_NE(error("--model llama2-7b --cluster dgx-h100 --devices 12").find("allowed: 8, 16"),
            std::string::npos);
}

TEST(Presets, HaveShortNamesInEveryCommandAndAFileOfThatNameComesFirst) {
  const TemporaryFiles files;
  const auto out = [&](const std::string& command) {
    const Ran ran = stepcast_run(files, command);
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    return ran.out;
  };
  const std::string matmul = "operator matmul --m 64 --k 64 --n 64 --cluster ";
  EXPECT_EQ(out(matmul + "dgx-h100"), out(matmul + "clusters/dgx-h100.yaml"));
  EXPECT_EQ(out("topology dgx-h100"), out("topology clusters/dgx-h100.yaml"));
  EXPECT_EQ(out("model llama3-8b"), out("model models/llama3-8b.yaml"));
  const std::filesystem::path own =
      files.write("ideal", "extends: clusters/ideal.yaml\nname: of-a-file\n");
  const Ran ran = test::shell(
      files, "cd '" + own.parent_path().string() + "' && '" + STEPCAST_BINARY + "' topology ideal");
  EXPECT_NE(ran.out.find("of-a-file"), std::string::npos) << ran.err;
  EXPECT_NE(stepcast_run(files, "topology dgx-h10").err.find("mean clusters/dgx-h100.yaml?"),
            std::string::npos);
}

TEST(List, FindsAClusterByWhatItIsCalledAndSaysWhatItOffers) {
  const TemporaryFiles files;
  const Ran ran = stepcast_run(files, "list 910c");
  EXPECT_NE(ran.out.find("clusters/atlas-900-a3.yaml"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("64.0 GiB at 1.60 TB/s, NIC 25.0 GB/s a device"), std::string::npos)
      << ran.out;
}

TEST(ShownMemory, IsTheSumOfItsPartsAndStandsInTheTable) {
  const TemporaryFiles files;
  const std::string llama = "run llama2-7b-8.yaml ";
  const Ran table = stepcast_run(files, llama);
  EXPECT_NE(table.out.find("npu-smi will show about"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("made of weights"), std::string::npos) << table.out;
  const auto json = nlohmann::json::parse(stepcast_run(files, llama + "--json -").out);
  const auto& memory = json["result"]["stages"][0]["memory_bytes"];
  const double tensors = memory["kept"].get<double>() / 0.06;
  EXPECT_NEAR(memory["shown"].get<double>(),
              tensors + memory["kept"].get<double>() + memory["libraries"].get<double>() +
                  memory["context"].get<double>(),
              1);
  const Ran ideal = stepcast_run(files, llama + "--cluster ideal");
  EXPECT_EQ(ideal.out.find("will show about"), std::string::npos) << "of no vendor";
}

TEST(ShownMemory, IsTheDevicesAtMost) {
  const TemporaryFiles files;
  const Ran ran = stepcast_run(
      files, "run llama2-7b-8.yaml --set cluster.device.memory.capacity=40GiB --json -");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto memory = nlohmann::json::parse(ran.out)["result"]["stages"][0]["memory_bytes"];
  const double used = memory["shown"].get<double>() - memory["kept"].get<double>();
  EXPECT_GE(memory["kept"].get<double>(), 0);
  EXPECT_LE(memory["shown"].get<double>(), std::max(used, 40 * 0x1p30))
      << "an allocator frees what it keeps before a device runs out";
}

TEST(ModelOption, TakesAConfigOfHuggingFace) {
  const TemporaryFiles files;
  const std::string config = files.write(
      "config.json",
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 512, "vocab_size": 32000,
          "intermediate_size": 1536, "num_attention_heads": 8, "max_position_embeddings": 4096})");
  const Ran ran = stepcast_run(files, "run llama2-7b-8.yaml --json - --model '" + config + "'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Ran compared = stepcast_run(
      files, "compare llama2-7b-8.yaml --json - --model '" + config + "' --model llama3-8b");
  ASSERT_EQ(compared.code, 0) << compared.err;
  const auto sides = nlohmann::json::parse(compared.out)["sides"];
  EXPECT_EQ(sides[1]["step_time_s"], nlohmann::json::parse(ran.out)["result"]["step_time_s"]);
  EXPECT_GT(sides[2]["step_time_s"], sides[1]["step_time_s"]);
}

TEST(WaysToFit, AreTriedAndNamedForAStepThatDoesNot) {
  const TemporaryFiles files;
  const Ran ran = stepcast_run(
      files, "run llama2-7b-8.yaml --set training.micro_batch=2 --set training.global_batch=16");
  EXPECT_NE(ran.out.find("The cheapest ways to fit, tried:\n    --set "), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("training.micro_batch=1"), std::string::npos) << ran.out;
  const Ran far = stepcast_run(files,
                               "run llama2-7b-8.yaml --set training.recompute=full --set "
                               "parallel.zero=3 --set cluster.device.memory.capacity=22GiB");
  EXPECT_NE(far.out.find("\n    --set parallel.tp=2 "), std::string::npos) << far.out;
  EXPECT_NE(far.out.find("\n    --set parallel.tp=4 "), std::string::npos) << "more than twice";
}

}  // namespace
}  // namespace stepcast
