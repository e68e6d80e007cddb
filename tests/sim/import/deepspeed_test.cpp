#include <gtest/gtest.h>

#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Hugging Face folders, DeepSpeed's JSON beside them and beside scripts.
namespace stepcast {
namespace {

using test::has;

using namespace import_tests;

constexpr const char* llama =
    R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
 "num_attention_heads": 32, "vocab_size": 128256, "num_key_value_heads": 8, "intermediate_size": 14336})";

ImportOptions on(std::int64_t devices, std::vector<std::string> overrides = {}) {
  ImportOptions options;
  options.cluster = "dgx-h100";
  options.devices = devices;
  options.overrides = std::move(overrides);
  return options;
}

Scenario imported(const std::string& path, const ImportOptions& options) {
  const SearchPath search = default_search_path({});
  return read_scenario(import_launch(path, options, search).document, search);
}

std::string complaint(const std::string& path, const ImportOptions& options) {
  try {
    (void)import_launch(path, options, default_search_path({}));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// A folder with a config.json, and files beside it.
struct Folder {
  test::TemporaryFiles files;
  std::string config = files.write("config.json", llama);
  std::string path = config.substr(0, config.rfind('/'));
  std::string json(const std::string& text) { return files.write("ds.json", text); }
  Scenario with(const std::string& text, ImportOptions options) {
    options.deepspeed = json(text);
    return imported(path, options);
  }
  std::string refusal(const std::string& text, ImportOptions options) {
    options.deepspeed = json(text);
    return complaint(path, options);
  }
};

const std::vector<std::string> length{"training.sequence=4096"};

TEST(HuggingFaceImport, AFolderIsItsModelAndAsksForTheTraining) {
  Folder folder;
  const std::string asked = complaint(folder.path, on(8));
  EXPECT_TRUE(has(asked, "--set training.sequence=N"));
  EXPECT_TRUE(has(asked, "--set training.global_batch=N"));
  const Scenario scenario =
      imported(folder.path, on(8, {"training.sequence=4096", "training.global_batch=64"}));
  EXPECT_EQ(scenario.workload.model.layers, 32);
  EXPECT_EQ(std::get<GroupedQueryAttention>(scenario.workload.model.attention).kv_heads, 8);
  EXPECT_EQ(scenario.micro_batches(), 8);
  EXPECT_EQ(scenario.sha256,
            imported(folder.config, on(8, {"training.sequence=4096", "training.global_batch=64",
                                           "name=" + scenario.name}))
                .sha256);
}

TEST(HuggingFaceImport, ALayerNormAndPositionsThatDoNotRotateHaveNoStatements) {
  Folder folder;
  const std::string small =
      R"("num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 32000)";
  const auto kernels = [&](const std::string& family) {
    folder.files.write("config.json", "{" + family + ", " + small + "}");
    return folder.with(R"({"train_batch_size": 64, "bf16": {"enabled": true}})", on(8, length))
        .workload.runtime.kernels;
  };
  const KernelSpec falcon = kernels(R"("model_type": "falcon", "alibi": true)");
  EXPECT_EQ(falcon.norm, KernelSpec::Norm::fused);
  EXPECT_EQ(falcon.rope, KernelSpec::Rope::fused);
  EXPECT_EQ(kernels(R"("model_type": "falcon")").rope, KernelSpec::Rope::unfused);
}

TEST(HuggingFaceImport, AFolderWithoutAConfigurationIsRefused) {
  const test::TemporaryFiles files;
  const std::string other = files.write("weights.txt", "none");
  EXPECT_TRUE(has(complaint(other.substr(0, other.rfind('/')), on(8)), "without a config.json"));
}

TEST(HuggingFaceImport, TheTrainerAsksForItsModel) {
  const test::TemporaryFiles files;
  const std::string script =
      files.write("train.sh", "deepspeed train.py --per_device_train_batch_size 4\n");
  EXPECT_TRUE(has(complaint(script, on(8)), "give --set model.hf_config=config.json"));
}

TEST(DeepSpeedImport, StageBucketAndBatchesComeFromTheJson) {
  Folder folder;
  const Scenario scenario = folder.with(
      R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "reduce_bucket_size": 2e8}})",
      on(8, length));
  EXPECT_EQ(scenario.workload.plan.zero, 3);
  EXPECT_EQ(scenario.workload.training.global_batch, 2 * 4 * 8);
  EXPECT_EQ(scenario.micro_batches(), 4);
  EXPECT_TRUE(scenario.workload.communication.gradient_overlap);
  EXPECT_EQ(scenario.workload.communication.bucket, 200000000);
}

TEST(DeepSpeedImport, EveryStageHasTheOverlapOfItsDefaults) {
  Folder folder;
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    const Scenario scenario = folder.with(
        R"({"train_batch_size": 16, "fp16": {"enabled": true}, "zero_optimization": {"stage": )" +
            std::to_string(stage) + "}}",
        on(8, length));
    EXPECT_EQ(scenario.workload.plan.zero, stage);
    EXPECT_EQ(scenario.workload.communication.gradient_overlap, stage == 3);
    EXPECT_TRUE(scenario.workload.communication.gather_overlap);  // there is none to leave
    EXPECT_EQ(scenario.workload.training.micro_batch, 2) << "accumulation is 1 unless given";
  }
}

TEST(DeepSpeedImport, BothWaysOfTellingTheModelSayTheSame) {
  Folder folder;
  const std::string text = R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 1,
 "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})";
  const Scenario beside = folder.with(text, on(8, length));
  const Scenario alone = imported(
      folder.json(text), on(8, {"training.sequence=4096", "model.hf_config=" + folder.config}));
  EXPECT_EQ(beside.content, alone.content);
}

TEST(DeepSpeedImport, EveryRefusalIsSaidAtOnceWithItsPlace) {
  Folder folder;
  const std::string text = folder.refusal(R"({
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": 1,
  "bf16": {"enabled": true},
  "optimizer": {"type": "Lamb"},
  "zero_optimization": {
    "stage": 3,
    "mics_shard_size": 8,
    "offload_optimizer": {"device": "cpu"},
    "offload_param": {"device": "nvme"},
    "stage3_prefetch_buckets": 1
  }
})",
                                          on(8, length));
  for (const char* part :
       {"ds.json:2:3: train_batch_size: is auto", "--set training.global_batch=..",
        "ds.json:5:17: optimizer.type: is 'Lamb', allowed: Adam, AdamW",
        "ds.json:8:5: zero_optimization.mics_shard_size: asks for what the file does not say as a "
        "value of parallel.dp_replicate",
        "an update on the processor of the host", "parameters on the host",
        "is no known flag of DeepSpeed's JSON, did you mean"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

constexpr const char* automatic =
    R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
 "gradient_accumulation_steps": "auto", "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"},
 "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": "auto",
 "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
 "max_live_parameters": 0, "max_reuse_distance": 0}})";

TEST(DeepSpeedImport, WhatTheTrainerWorksOutOfTheModelIsWorkedOut) {
  Folder folder;
  const ImportOptions options = on(8, {"training.sequence=4096", "training.global_batch=64",
                                       "training.micro_batch=1", "training.precision=bf16"});
  const Scenario scenario = folder.with(automatic, options);
  EXPECT_EQ(scenario.workload.plan.zero, 3);
  EXPECT_EQ(scenario.workload.communication.bucket, 4096 * 4096);
  ImportOptions with = options;
  with.deepspeed = folder.json(automatic);
  for (const std::string& warning :
       import_launch(folder.path, with, default_search_path({})).warnings)
    EXPECT_FALSE(has(warning, "changes nothing here")) << warning;
}

TEST(DeepSpeedImport, WhatTheTrainerIsToldElsewhereIsAskedForOnce) {
  Folder folder;
  const std::string asked = folder.refusal(automatic, on(8, length));
  EXPECT_FALSE(has(asked, "would be FP32")) << asked;
  std::size_t precisions = 0;
  for (std::size_t at = asked.find("training.precision="); at != std::string::npos;
       at = asked.find("training.precision=", at + 1))
    ++precisions;
  EXPECT_EQ(precisions, 1U) << asked;
  EXPECT_TRUE(has(asked, "--set training.global_batch")) << asked;
}

TEST(DeepSpeedImport, BatchesThatDoNotMultiplyAreRefused) {
  Folder folder;
  EXPECT_TRUE(has(folder.refusal(R"({"train_batch_size": 60, "train_micro_batch_size_per_gpu": 2,
 "gradient_accumulation_steps": 4, "bf16": {"enabled": true}})",
                                 on(8, length)),
                  "micro-batch x accumulation x DP are 2 x 4 x 8, allowed: the same"));
}

TEST(DeepSpeedImport, TensorRanksAreNoReplicas) {
  Folder folder;
  const Scenario scenario = folder.with(
      R"({"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true},
 "tensor_parallel": {"autotp_size": 4}})",
      on(8, length));
  EXPECT_EQ(scenario.workload.plan.tp, 4);
  EXPECT_EQ(scenario.workload.plan.dp, 2);
  EXPECT_EQ(scenario.workload.training.global_batch, 4);
}

TEST(DeepSpeedImport, NeitherPrecisionIsFp32) {
  Folder folder;
  EXPECT_TRUE(has(folder.refusal(R"({"train_batch_size": 8})", on(8, length)), "would be FP32"));
}

TEST(MegatronDeepSpeed, AJsonThatTheScriptWritesIsRead) {
  const Scenario scenario = imported(data_path("ds_gpt3_175b.sh"), on(8));
  EXPECT_EQ(scenario.workload.model.layers, 96);
  EXPECT_EQ(scenario.workload.plan.zero, 3);
  EXPECT_EQ(scenario.workload.plan.pp, 1);
  EXPECT_EQ(scenario.workload.communication.bucket, 90000000);
  EXPECT_EQ(scenario.workload.training.precision, TrainingSpec::Precision::fp16);
  EXPECT_EQ(scenario.workload.training.micro_batch, 4);
  EXPECT_EQ(scenario.micro_batches(), 1);
}

TEST(MegatronDeepSpeed, ExpertsAreInEverySecondLayer) {
  const Scenario scenario = imported(data_path("ds_moe_1b3_128e.sh"), on(64));
  const ModelSpec& model = scenario.workload.model;
  ASSERT_TRUE(model.moe);
  EXPECT_EQ(model.moe->experts, 128);
  EXPECT_EQ(model.moe->top_k, 1);
  EXPECT_FALSE(model.is_moe_layer(0));
  EXPECT_TRUE(model.is_moe_layer(1));
  EXPECT_TRUE(model.is_moe_layer(23));
  EXPECT_EQ(scenario.workload.plan.ep, 64);
  EXPECT_EQ(scenario.workload.plan.zero, 0);
}

TEST(MegatronDeepSpeed, FlashAttentionInTritonIsAnotherKernel) {
  const test::TemporaryFiles files;
  ImportOptions options = on(8, {"model.vocabulary=1024"});
  options.cluster = "dgx-a100";
  options.deepspeed = files.write("one.json", R"({"train_batch_size": 8, "fp16": {"enabled": true},
 "zero_optimization": {"stage": 1}})");
  const auto attention = [&](const std::string& flags) {
    const std::string script =
        files.write("train.sh",
                    "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 "
                    "--num-attention-heads 8 --seq-length 128 --micro-batch-size 1 --deepspeed "
                    "--deepspeed_config one.json --fp16 " +
                        flags + "\n");
    return imported(script, options).workload.training.attention;
  };
  using enum TrainingSpec::Attention;
  EXPECT_EQ(attention(""), unfused);
  EXPECT_EQ(attention("--use-flash-attn-v2"), fused);
  EXPECT_EQ(attention("--use-flash-attn-triton"), flash_triton);
  EXPECT_EQ(attention("--use-flash-attn-triton --use-flash-attn-v2"), flash_triton);
}

TEST(MegatronDeepSpeed, StagesThatDifferAreRefused) {
  ImportOptions options = on(8);
  const test::TemporaryFiles files;
  options.deepspeed = files.write("two.json", R"({"train_batch_size": 64, "fp16": {"enabled": true},
 "zero_optimization": {"stage": 2}})");
  const std::string text = complaint(data_path("ds_gpt3_175b.sh"), options);
  EXPECT_TRUE(has(text, "is 2, and --zero-stage is 3, allowed: the same")) << text;
  EXPECT_TRUE(has(text, "is 64, and training.global_batch is 32 beside it")) << text;
}

TEST(MegatronDeepSpeed, AMissingJsonIsNamed) {
  const test::TemporaryFiles files;
  const std::string script =
      files.write("train.sh",
                  "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 "
                  "--num-attention-heads 8 --seq-length 128 --micro-batch-size 1 --vocab-size 1000 "
                  "--deepspeed --deepspeed_config gone.json --bf16\n");
  EXPECT_TRUE(has(complaint(script, on(8)), "names gone.json, which is not beside the script"));
}

TEST(MegatronDeepSpeed, ExpertsInLayersWhoseNumberIsMissingAreAnError) {
  const test::TemporaryFiles files;
  const std::string script =
      files.write("train.sh",
                  "deepspeed --num_gpus 8 pretrain_gpt.py --hidden-size 512 --num-experts 8 "
                  "--deepspeed --deepspeed_config gone.json --bf16\n");
  EXPECT_TRUE(has(complaint(script, on(8)), "--num-layers: is missing"))
      << complaint(script, on(8));
}

}  // namespace
}  // namespace stepcast
