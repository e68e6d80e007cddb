#include <gtest/gtest.h>

#include "stepcast/base/foreign_document.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// YAML, TOML and what they refuse.
namespace stepcast {
namespace {

using test::has;

using namespace import_tests;

ImportOptions on(const std::string& cluster) {
  ImportOptions options;
  options.cluster = cluster;
  return options;
}

std::string complaint_of_form(const std::string& path, const ImportOptions& options) {
  try {
    (void)import_launch(path, options, default_search_path({}));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string written(const std::string& name, const std::string& text) {
  static const test::TemporaryFiles files;  // of this process, as others run beside it
  return files.write(name, text);
}

TEST(ForeignDocument, ExpandsAnchorsWithinBounds) {
  const Node root =
      parse_foreign_document("a: &x {b: 1.e-8}\nc: *x\nd: [*x, 2]\nb: 1\nb: 2\n", "f.yaml");
  EXPECT_EQ(root.find("c")->find("b")->text, "1.e-8");
  EXPECT_EQ(root.find("d")->items.size(), 2U);
  EXPECT_EQ(root.find("b")->text, "2");
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            ", " + before + ", " + before + "]\n";
  }
  EXPECT_THROW((void)parse_foreign_document(bomb, "bomb.yaml"), InputError);
  EXPECT_THROW((void)parse_foreign_document("a: &a [*a]\n", "self.yaml"), InputError);
}

TEST(MindFormersTraps, OffsetsMustAddUp) {
  EXPECT_TRUE(has(complaint_of_form(data_path("mf_telechat3_105b.yaml"), on("atlas-800t-a2")),
                  "must be 45 layers less 5 in each of 8 chunks: 5"));
}

TEST(MindFormersTraps, UnknownKeysAreNamed) {
  const std::string path =
      written("stepcast_mf.yaml",
              "parallel_config:\n  data_paralel: 2\nmodel:\n  model_config:\n    num_layers: 2\n");
  EXPECT_TRUE(has(complaint_of_form(path, on("atlas-800t-a2")),
                  "did you mean parallel_config.data_parallel?"));
}

TEST(TorchtitanTraps, OneMicroBatchForFourStages) {
  ImportOptions options = on("dgx-h100");
  options.devices = 64;
  const ImportedScenario imported =
      import_launch(data_path("tt_llama4_128e.toml"), options, default_search_path({}));
  EXPECT_EQ(read_scenario(imported.document, default_search_path({})).micro_batches(), 1);
}

TEST(TorchtitanTraps, SelectiveByOperatorAsks) {
  ImportOptions options = on("dgx-h100");
  options.devices = 8;
  EXPECT_TRUE(
      has(complaint_of_form(data_path("tt_llama3_8b.toml"), options), "--set training.recompute"));
}

TEST(TorchtitanTraps, BrokenTomlHasItsPlace) {
  EXPECT_TRUE(
      has(complaint_of_form(written("stepcast_broken.toml", "[model]\nname = \n"), on("dgx-h100")),
          "stepcast_broken.toml:2:"));
}

TEST(Bridge, RunConfigHasTheRecipesValues) {
  ImportOptions options = on("dgx-h100");
  options.devices = 32;
  const SearchPath search = default_search_path({});
  const Scenario scenario = read_scenario(
      import_launch(data_path("bridge_run_config.yaml"), options, search).document, search);
  const ParallelPlan& plan = scenario.workload.plan;
  EXPECT_EQ(plan.tp, 4);
  EXPECT_EQ(plan.vpp, 5);
  EXPECT_EQ(plan.cp, 2);
  EXPECT_EQ(plan.dp, 1);
  EXPECT_EQ(scenario.micro_batches(), 512);
  EXPECT_EQ(scenario.workload.communication.tensor_chunks, 4);
}

/// torchtitan's file with these converters and lines behind it.
std::string titan(const std::string& converters, const std::string& more = {}) {
  return written("stepcast_fp8.toml",
                 "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [" + converters +
                     "]\n[training]\nlocal_batch_size = 2\nseq_len = 2048\n"
                     "[activation_checkpoint]\nmode = \"full\"\n" +
                     more);
}

/// The scenario of a file for 16 devices.
std::string scenario_of(const std::string& path) {
  ImportOptions options = on("dgx-b200");  // runs every recipe of FP8
  options.devices = 16;
  return import_launch(path, options, default_search_path({})).text;
}

TEST(TorchtitanFp8, ConvertersHaveRecipes) {
  const std::string plain =
      scenario_of(titan("\"float8\""));  // tensorwise, as the framework has it
  EXPECT_TRUE(has(plain, "precision: fp8_mixed"));
  EXPECT_FALSE(has(plain, "fp8_recipe:"));
  EXPECT_TRUE(has(scenario_of(titan("\"float8\"", "[float8]\nrecipe_name = \"rowwise\"\n")),
                  "fp8_recipe: rowwise"));
  EXPECT_TRUE(has(scenario_of(titan("\"quantize.linear.float8\"",
                                    "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n")),
                  "fp8_recipe: rowwise"));
  EXPECT_TRUE(has(scenario_of(titan("\"mx\"")), "fp8_recipe: mxfp8"));
  EXPECT_TRUE(has(scenario_of(titan("\"quantize.linear.mx\"")), "fp8_recipe: mxfp8"));
  EXPECT_FALSE(has(scenario_of(titan("")), "fp8_recipe:"));
}

TEST(Torchtitan, SelectiveByOperatorIsRefusedWithItsBounds) {
  const std::string path = written(
      "stepcast_op.toml",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = "
      "2048\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n");
  ImportOptions options = on("dgx-h100");
  options.devices = 16;
  const std::string said = complaint_of_form(path, options);
  EXPECT_TRUE(has(said, "--set 'training.recompute={modules: [layernorm, mlp_act]}'")) << said;
  for (const char* bound : {"{modules: [layernorm, mlp_act]}", "full"}) {
    options.overrides = {std::string("training.recompute=") + bound};
    EXPECT_EQ(complaint_of_form(path, options), "") << bound;
  }
}

TEST(TorchtitanFp8, OtherRecipesAreNamed) {
  const auto said = [](const std::string& path) {
    ImportOptions options = on("dgx-h100");
    options.devices = 16;
    return complaint_of_form(path, options);
  };
  EXPECT_TRUE(has(said(titan("\"float8\"", "[float8]\nrecipe_name = \"rowwise_with_gw_hp\"\n")),
                  "is 'rowwise_with_gw_hp', which no value of training.fp8_recipe says, allowed: "
                  "tensorwise, rowwise"));
  EXPECT_TRUE(
      has(said(titan("\"mx\"", "[mx]\nrecipe_name = \"mxfp4_cutlass\"\n")), "is 'mxfp4_cutlass'"));
  EXPECT_TRUE(has(said(titan("\"float8\", \"mx\"")), "names float8 and mx"));
  EXPECT_TRUE(has(said(titan("\"quantize.grouped_mm.float8\"")), "multiplies experts alone"));
}

/// The recipe of Megatron-Bridge with another precision and keys of the model.
std::string bridge(const std::string& precision, const std::string& more = {}) {
  return written(
      "stepcast_bridge.yaml",
      "train:\n  micro_batch_size: 1\n  global_batch_size: 32\nmodel:\n  num_layers: 8\n  "
      "hidden_size: 1024\n  num_attention_heads: 16\n  seq_length: 1024\n  vocab_size: 32000\n  "
      "tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  sequence_parallel: "
      "true\n  position_embedding_type: rope\n" +
          more + "mixed_precision: " + precision + "\n");
}

TEST(NemoFp8, RecipesAndGraphsAreTaken) {
  const std::pair<const char*, const char*> names[] = {
      {"bf16_with_fp8_delayed_scaling_mixed", "delayed"},
      {"bf16_with_fp8_current_scaling_mixed", "tensorwise"},
      {"bf16_with_fp8_subchannel_scaling_mixed", "blockwise"},
      {"bf16_with_mxfp8_mixed", "mxfp8"}};
  for (const auto& [precision, recipe] : names)
    EXPECT_TRUE(has(scenario_of(bridge(precision)), std::string("fp8_recipe: ") + recipe))
        << precision;
  EXPECT_TRUE(has(scenario_of(bridge("bf16_mixed", "  fp8: hybrid\n  fp8_recipe: blockwise\n")),
                  "fp8_recipe: blockwise"));
  EXPECT_TRUE(has(scenario_of(bridge("bf16_mixed",
                                     "  cuda_graph_impl: transformer_engine\n  cuda_graph_scope: "
                                     "[attn]\n")),
                  "graphs: {scopes: [attn]}"));
  EXPECT_TRUE(has(complaint_of_form(bridge("bf16_with_fp8_other_mixed"), on("dgx-h100")),
                  "is 'bf16_with_fp8_other_mixed', allowed: delayed"));
  EXPECT_TRUE(has(complaint_of_form(bridge("bf16_with_nvfp4_mixed"), on("dgx-h100")), "FP4"));
}

}  // namespace
}  // namespace stepcast
