#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// The 48 pretraining scripts that MindSpeed-LLM ships for its Megatron form, as their flags.
namespace stepcast {
namespace {

using namespace import_tests;

struct ShippedScript {
  std::string name, devices, nodes, refused, published, flags;
};

std::vector<ShippedScript> shipped_scripts() {
  std::vector<ShippedScript> all;
  std::ifstream file(data_path("mindspeed_scripts.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    ShippedScript script;
    for (std::string* cell : {&script.name, &script.devices, &script.nodes, &script.refused,
                              &script.published, &script.flags})
      std::getline(cells, *cell, '|');
    all.push_back(std::move(script));
  }
  return all;
}

/// The number behind a flag, as a reader of the line finds it.
std::int64_t number_behind(const std::string& flags, const std::string& flag,
                           std::int64_t missing) {
  const std::size_t at = (" " + flags).rfind(" " + flag + " ");
  return at == std::string::npos ? missing : std::stoll(flags.substr(at + flag.size() + 1));
}

struct Told {
  std::optional<Scenario> scenario;
  std::string wrong;
};

Told read_shipped(const ShippedScript& script) {
  static const test::TemporaryFiles files;
  const std::string text = "export HCCL_CONNECT_TIMEOUT=1800\ntorchrun --nproc_per_node " +
                           script.devices + " --nnodes " + script.nodes + " pretrain_gpt.py " +
                           script.flags + "\n";
  ImportOptions options;
  options.cluster = script.devices == "16" ? "atlas-900-a3" : "atlas-800t-a2";
  // Its tokenizer is Llama's, which the file does not say.
  if (script.name.starts_with("llama2")) options.overrides = {"model.vocabulary=32000"};
  try {
    const SearchPath search = default_search_path({});
    return {read_scenario(import_launch(files.write("train.sh", text), options, search).document,
                          search),
            {}};
  } catch (const InputError& error) {
    return {{}, error.what()};
  }
}

constexpr auto bit(TrainingSpec::Module module) { return 1U << static_cast<unsigned>(module); }
constexpr std::uint32_t activation_function = bit(TrainingSpec::Module::mlp_act);

TEST(MindSpeedScripts, AreTakenOrRefusedForATrueReason) {
  const std::vector<ShippedScript> all = shipped_scripts();
  ASSERT_EQ(all.size(), 48U);
  std::size_t taken = 0;
  for (const ShippedScript& script : all) {
    const Told told = read_shipped(script);
    EXPECT_EQ(told.wrong.find("no known flag"), std::string::npos) << script.name << told.wrong;
    if (!script.refused.empty()) {
      EXPECT_TRUE(test::has(told.wrong, script.refused)) << script.name << told.wrong;
      continue;
    }
    EXPECT_TRUE(told.scenario) << script.name << told.wrong;
    if (!told.scenario) continue;
    ++taken;
    const Scenario& scenario = *told.scenario;
    const auto tp = number_behind(script.flags, "--tensor-model-parallel-size", 1);
    EXPECT_EQ(scenario.workload.plan.tp, tp) << script.name;
    EXPECT_EQ(scenario.workload.plan.pp,
              number_behind(script.flags, "--pipeline-model-parallel-size", 1))
        << script.name;
    EXPECT_EQ(scenario.workload.training.sequence, number_behind(script.flags, "--seq-length", 0))
        << script.name;
    if (script.name == "llama2_13b_pack_ptd_o2") {
      EXPECT_EQ(scenario.workload.training.recompute_modules, activation_function);
    }
    const bool away = script.flags.find("--swap-attention") != std::string::npos;
    EXPECT_EQ(!scenario.workload.training.offload_activations, away) << script.name;
    EXPECT_EQ(scenario.workload.training.micro_batch,
              number_behind(script.flags, "--micro-batch-size", 0))
        << script.name;
    if (script.published == "-") continue;
    const double billions = count_parameters(scenario.workload.model).total_without_mtp / 1e9;
    const double published = *parse_number(script.published);
    EXPECT_LT(std::abs(billions / published - 1), 0.025)
        << script.name << " has " << billions << ", published " << published;
  }
  EXPECT_EQ(taken, 43U);
}

// Megatron-LM itself does not run on NPUs: the same script is Megatron's elsewhere.
TEST(MindSpeedScripts, WithoutASignAreKnownByTheirCluster) {
  const test::TemporaryFiles files;
  const std::string path =
      files.write("pretrain.sh",
                  "torchrun --nproc_per_node 16 pretrain_gpt.py --num-layers 2 --hidden-size 1024 "
                  "--num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
                  "--micro-batch-size 1 --global-batch-size 16 --bf16 --vocab-size 32000\n");
  const SearchPath search = default_search_path({});
  const auto framework_on = [&](const char* cluster, const char* from = "") {
    ImportOptions options;
    options.cluster = cluster;
    options.from = from;
    return read_scenario(import_launch(path, options, search).document, search).framework->label;
  };
  EXPECT_TRUE(framework_on("atlas-900-a3").starts_with("MindSpeed"));
  EXPECT_TRUE(framework_on("dgx-h100").starts_with("Megatron-Core"));
  EXPECT_TRUE(framework_on("atlas-900-a3", "megatron").starts_with("Megatron-Core"));
}

}  // namespace
}  // namespace stepcast
