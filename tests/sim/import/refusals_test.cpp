#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "sim/import/flags.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// What cannot be said is refused, all of it at once, with its place.
namespace stepcast {
namespace {

using test::has;

using namespace import_tests;
using launch::Flag, launch::Framework, launch::Treatment;

std::string refusal_of(const std::string& path, ImportOptions options) {
  try {
    (void)import_launch(path, options, default_search_path({}));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string warnings(const std::string& path, const ImportOptions& options) {
  std::string all;
  for (const std::string& warning : import_launch(path, options, default_search_path({})).warnings)
    all += warning + "\n";
  return all;
}

/// A small dense launch that runs, with more flags behind it.
std::string script(const std::string& more) {
  static const test::TemporaryFiles files;  // of this process, as others run beside it
  const std::string path = files.path("stepcast_refusal.sh");
  std::ofstream(path)
      << "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
         "--num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
         "--micro-batch-size 1 "
         "--global-batch-size 32 --vocab-size 32000 --tensor-model-parallel-size 2 "
         "--pipeline-model-parallel-size 2 --bf16 "
      << more << "\n";
  return path;
}

ImportOptions on_dgx() {
  ImportOptions options;
  options.cluster = "dgx-b200";  // runs every recipe of FP8
  return options;
}

std::string refusal(const std::string& more) { return refusal_of(script(more), on_dgx()); }

TEST(ImportRefusals, EveryRefusedFlagAtOnce) {
  const std::string said =
      refusal("--attention-chunk-size 8 --optimizer muon --fp4-format e2m1 --lrr 1");
  for (const char* flag : {"--attention-chunk-size", "--optimizer", "--fp4-format", "--lrr"})
    EXPECT_TRUE(has(said, flag)) << said;
  EXPECT_TRUE(has(said, "did you mean --lr?"));
  EXPECT_TRUE(has(said, "stepcast_refusal.sh:1:"));
}

TEST(ImportRefusals, OfTheTable) {
  for (const Flag& flag : launch::flag_table(Framework::megatron).flags) {
    if (flag.treatment != Treatment::refused) continue;
    const std::string value = flag.arity == launch::Arity::none ? "" : " 7";
    EXPECT_TRUE(has(refusal(std::string(flag.name) + value), flag.name)) << flag.name;
  }
}

TEST(ImportRefusals, UnknownFlagsCanBeListedInstead) {
  ImportOptions options = on_dgx();
  options.ignore_unknown = true;
  EXPECT_TRUE(has(warnings(script("--never-heard-of 3"), options), "--never-heard-of: is unknown"));
}

TEST(ImportRefusals, SetReplacesAFlag) {
  ImportOptions options = on_dgx();
  options.overrides = {"training.recompute=full"};
  EXPECT_TRUE(has(warnings(script("--distribute-saved-activations"), options),
                  "gives way to --set training.recompute"));
}

TEST(ImportRefusals, SizesThatDoNotDivideAreNamedWhereTheyStand) {
  const std::string in_file = refusal("--context-parallel-size 3");
  EXPECT_TRUE(has(in_file, "stepcast_refusal.sh:1:")) << in_file;
  EXPECT_TRUE(has(in_file, "makes tp x pp x cp = 2 x 2 x 3, which does not divide 16 devices"));
  ImportOptions options = on_dgx();
  options.overrides = {"parallel.tp=3"};
  const std::string set = refusal_of(script(""), options);
  EXPECT_TRUE(has(set, "--set parallel.tp=3: parallel.tp: makes")) << set;
  options.overrides = {"parallel.tpp=8"};
  EXPECT_TRUE(has(refusal_of(script(""), options), "--set parallel.tpp=8: parallel.tpp: is not a"));
}

TEST(ImportRefusals, DevicesThatGiveWayAreNamed) {
  ImportOptions options = on_dgx();
  options.devices = 64;
  EXPECT_TRUE(has(warnings(script(""), options),
                  "--nnodes: gives way to 64 devices as asked; the file has 16"));
  options.devices = 16;
  EXPECT_FALSE(has(warnings(script(""), options), "gives way"));
}

TEST(ImportRefusals, AsksForWhatTheFileDoesNotSay) {
  const std::string said = refusal_of(data_path("mlm_kimi_k2.sh"), {});
  for (const char* part : {"--devices: is missing", "--cluster: is missing"})
    EXPECT_TRUE(has(said, part)) << said;
  EXPECT_TRUE(has(refusal_of(data_path("msl_llama31_405b.sh"), {{}, {}, "atlas-900-a3", {}, false}),
                  "model.vocabulary"));
}

/// A key of the imported scenario as YAML has it.
std::string imported(const std::string& more) {
  return import_launch(script(more), on_dgx(), default_search_path({})).text;
}

TEST(ImportRefusals, ModulesAndWindowsAreTaken) {
  const std::string selective = "--recompute-granularity selective --recompute-modules ";
  EXPECT_TRUE(has(imported(selective + "core_attn"), "recompute: selective"));
  EXPECT_TRUE(has(imported(selective + "layernorm core_attn"),
                  "recompute: {modules: [layernorm, core_attn]}"));
  EXPECT_TRUE(has(refusal(selective + "attn"), "names attn, allowed: core_attn, mla_up_proj"));
  EXPECT_TRUE(has(refusal("--moe-layer-recompute --recompute-granularity full --recompute-method "
                          "uniform --recompute-num-layers 1"),
                  "does not go with --recompute-granularity full"));
  const std::string window = imported("--window-size 127,0 --window-attn-skip-freq 2");
  EXPECT_TRUE(has(window, "window: 128")) << window;
  EXPECT_TRUE(has(window, "full_every: 2"));
  EXPECT_TRUE(has(refusal("--window-size 127,127"), "is not n,0"));
  EXPECT_TRUE(
      has(refusal("--window-size 127,0 --window-attn-skip-freq 1,1,0"), "--window-attn-skip-freq"));
}

TEST(ImportRefusals, VariantsOfAttentionAreTakenWhole) {
  const std::string dims =
      " --disable-bias-linear --linear-conv-kernel-dim 4 --linear-key-head-dim 64 "
      "--linear-value-head-dim 64 --linear-num-key-heads 8 --linear-num-value-heads 16";
  const std::string variant = "--experimental-attention-variant ";
  const std::string linear = imported(variant + "gated_delta_net --linear-attention-freq 4" + dims);
  for (const char* line : {"kind: gated_delta", "full_every: 4", "key_heads: 8", "value_heads: 16",
                           "key_dim: 64", "value_dim: 64", "convolution: 4"})
    EXPECT_TRUE(has(linear, line)) << line << "\n" << linear;
  EXPECT_TRUE(has(refusal(variant + "gated_delta_net" + dims), "--linear-attention-freq"));
  EXPECT_TRUE(has(refusal(variant + "gated_delta_net --linear-attention-freq 4"),
                  "--linear-num-key-heads: is missing"));
  EXPECT_TRUE(
      has(refusal(variant + "gated_delta_net --linear-attention-freq \"([1]*3+[0]*1)*2\"" + dims),
          "--linear-attention-freq"));
  EXPECT_TRUE(has(refusal(variant + "mamba"), "is 'mamba', allowed: gated_delta_net, dsa"));
  const std::string index =
      " --dsa-indexer-n-heads 4 --dsa-indexer-head-dim 64 --dsa-indexer-topk 256";
  EXPECT_TRUE(has(refusal(variant + "dsa" + index), "with --multi-latent-attention"));
  const std::string sparse =
      imported("--multi-latent-attention --q-lora-rank 128 " + variant + "dsa" + index);
  for (const char* line : {"index_heads: 4", "index_dim: 64", "index_top_k: 256"})
    EXPECT_TRUE(has(sparse, line)) << line << "\n" << sparse;
}

TEST(ImportRefusals, RecipesOfFp8AreTaken) {
  const std::string fp8 = "--fp8-format hybrid ";
  EXPECT_TRUE(has(imported(fp8), "fp8_recipe: delayed"));
  for (const std::string recipe : {"delayed", "tensorwise", "blockwise", "mxfp8"}) {
    const std::string text = imported(fp8 + "--fp8-recipe " + recipe);
    EXPECT_TRUE(has(text, "fp8_recipe: " + recipe)) << text;
  }
  EXPECT_TRUE(has(refusal(fp8 + "--fp8-recipe custom"),
                  "is 'custom', allowed: delayed, tensorwise, blockwise, mxfp8"));
  EXPECT_FALSE(has(imported("--fp8-recipe mxfp8"), "fp8_recipe:"));
  EXPECT_TRUE(has(warnings(script("--fp8-recipe mxfp8"), on_dgx()),
                  "--fp8-recipe: counts only with --fp8-format"));
}

TEST(ImportRefusals, RowsOfExpertsArePaddedUnlessTheRouterDoes) {
  const std::string experts =
      "--fp8-format hybrid --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "
      "--moe-token-dispatcher-type alltoall --expert-model-parallel-size 2 --sequence-parallel ";
  EXPECT_TRUE(has(imported(experts), "row_padding: copies"));
  EXPECT_TRUE(
      has(imported(experts + "--moe-router-padding-for-quantization"), "row_padding: none"));
  EXPECT_TRUE(has(imported(experts + "--moe-router-padding-for-fp8"), "row_padding: none"));
}

TEST(ImportRefusals, GraphsOfPartsOfALayerAreTaken) {
  const std::string made = "--cuda-graph-impl transformer_engine ";
  EXPECT_TRUE(has(imported(made + "--cuda-graph-scope attn"), "graphs: {scopes: [attn]}"));
  EXPECT_TRUE(
      has(imported(made + "--cuda-graph-modules attn mlp"), "graphs: {scopes: [attn, mlp]}"));
  EXPECT_TRUE(has(imported(made), "graphs: {scopes: [attn, mlp]}"));
  EXPECT_TRUE(has(imported("--external-cuda-graph --cuda-graph-scope full"),
                  "graphs: {scopes: [attn, mlp]}"));
  EXPECT_FALSE(has(imported("--cuda-graph-impl none"), "graphs:"));
  const std::string experts =
      "--num-experts 8 --moe-router-topk 2 --moe-token-dispatcher-type alltoall "
      "--expert-model-parallel-size 2 --sequence-parallel ";
  EXPECT_TRUE(has(imported(experts + made + "--cuda-graph-scope attn moe_router moe_preprocess"),
                  "graphs: {scopes: [attn, moe_router, moe_preprocess]}"));
}

TEST(ImportRefusals, OtherGraphsAreNamed) {
  const std::string made = "--cuda-graph-impl transformer_engine --cuda-graph-scope ";
  for (const std::string word : {"mamba", "full_iteration"})
    EXPECT_TRUE(has(refusal(made + word), "names " + word + ", which no value of runtime.graphs"));
  EXPECT_TRUE(has(refusal("--cuda-graph-impl local"), "no value of runtime.graphs says"));
  EXPECT_TRUE(has(refusal("--enable-cuda-graph"), "as a value of runtime.graphs"));
  EXPECT_TRUE(has(warnings(script("--cuda-graph-scope attn"), on_dgx()),
                  "counts only with --cuda-graph-impl transformer_engine"));
}

TEST(ImportRefusals, ChunksWithoutLayersAreTaken) {
  EXPECT_TRUE(has(imported("--pipeline-model-parallel-layout \"E|ttttttttL\""),
                  "layers_per_chunk: [[0, 8]]"));
  EXPECT_TRUE(has(imported("--pipeline-model-parallel-layout \"Etttttttt|L\""),
                  "layers_per_chunk: [[8, 0]]"));
}

TEST(ImportRefusals, EachOverlapOfTheShardedOptimizerIsTaken) {
  const std::string sharded = "--use-distributed-optimizer --overlap-grad-reduce ";
  EXPECT_TRUE(has(imported(sharded), "parameter:\n    overlap: false"));
  EXPECT_FALSE(has(imported(sharded + "--overlap-param-gather"), "parameter:"));
  EXPECT_TRUE(has(refusal("--use-distributed-optimizer --overlap-param-gather"),
                  "needs --overlap-grad-reduce"));
}

TEST(ImportRefusals, StatesInLowerPrecisionAndPartlyOnTheHostAreTaken) {
  const std::string aware = "--use-distributed-optimizer --use-precision-aware-optimizer ";
  const std::string taken = imported(aware + "--exp-avg-dtype bf16 --exp-avg-sq-dtype fp8");
  EXPECT_TRUE(has(taken, "first_moment: bf16")) << taken;
  EXPECT_TRUE(has(taken, "second_moment: fp8"));
  EXPECT_TRUE(has(refusal("--exp-avg-dtype bf16"), "needs --use-precision-aware-optimizer"));
  EXPECT_TRUE(has(refusal(aware + "--exp-avg-dtype int4"), "is 'int4', allowed: fp32"));
  EXPECT_TRUE(has(imported(aware + "--main-params-dtype fp16"), "master_weights: fp16"));
  EXPECT_TRUE(has(refusal("--main-params-dtype fp16"), "needs --use-precision-aware-optimizer"));
  EXPECT_TRUE(has(imported("--optimizer-cpu-offload --optimizer-offload-fraction 0.5"),
                  "optimizer_part: 0.5"));
  EXPECT_TRUE(has(refusal("--optimizer-cpu-offload --optimizer-offload-fraction 2"), "0 to 1"));
}

TEST(ImportRefusals, NumbersWithoutAnEffectAreThoseThatRun) {
  EXPECT_TRUE(has(refusal("--clip-grad -0.5"), "is -0.5, allowed: 0 or more"));
  EXPECT_TRUE(has(refusal("--attention-dropout 1.5"), "is 1.5, allowed: 0 to 1"));
  EXPECT_TRUE(has(refusal("--rotary-base 0"), "is 0, allowed: more than 0"));
  imported("--seed -7 --exit-interval -1 --rotary-percent 0.5");  // throws where one is refused
}

TEST(ImportRefusals, InstancesAndGathersOfOneByteAreTaken) {
  const std::string sharded = "--use-distributed-optimizer ";
  EXPECT_TRUE(
      has(imported(sharded + "--num-distributed-optimizer-instances 2"), "dp_replicate: 2"));
  EXPECT_TRUE(
      has(refusal("--num-distributed-optimizer-instances 2"), "needs --use-distributed-optimizer"));
  EXPECT_TRUE(has(refusal(sharded + "--num-distributed-optimizer-instances 3"),
                  "is 3, must divide dp = 4"));
  const std::string fp8 = sharded + "--fp8-format hybrid --fp8-param-gather --fp8-recipe ";
  EXPECT_TRUE(has(imported(fp8 + "tensorwise"), "precision: fp8 "));
  EXPECT_TRUE(
      has(warnings(script(fp8 + "mxfp8"), on_dgx()), "--fp8-param-gather: gathers in BF16"));
  EXPECT_TRUE(has(warnings(script(sharded + "--fp8-param-gather"), on_dgx()),
                  "--fp8-param-gather: counts only with --fp8-format"));
  EXPECT_TRUE(
      has(refusal("--fp8-format hybrid --fp8-param-gather"), "needs --use-distributed-optimizer"));
}

TEST(ImportRefusals, Traps) {
  const auto said = [](const char* file, ImportOptions options) {
    return refusal_of(data_path(file), options);
  };
  EXPECT_TRUE(has(said("mlm_gpt3_175b.sh", {{}, {}, "dgx-a100", {"model.vocabulary=51200"}, false}),
                  "a multiple of 128"));
  EXPECT_TRUE(
      has(said("mlm_mixtral_8x7b.sh", {{}, {}, "dgx-h100", {"model.vocabulary=32000"}, false}),
          "parallel.ep"));
  EXPECT_TRUE(has(said("mlm_gptoss_toy.sh", on_dgx()), "which 8 chunks"));
  EXPECT_TRUE(has(said("mlm_nemotron3_super.yaml", on_dgx()), "Mamba layers"));
  EXPECT_EQ(said("mlm_llama3_8b_fp8.sh", on_dgx()), "");
  EXPECT_TRUE(has(said("mlm_gpt3_15b.yaml", on_dgx()), "--step-batch-size-schedule"));
  const ImportOptions atlas{{}, {}, "atlas-900-a3", {}, false};
  EXPECT_FALSE(has(said("msl_deepseek3_671b.sh", atlas), "moe.overlap"));
  EXPECT_FALSE(has(said("msl_deepseek32_671b.sh", atlas), "without layers"));
  EXPECT_FALSE(has(said("msl_deepseek32_671b.sh", atlas), "--enable-dsa-indexer"));
  EXPECT_TRUE(
      has(refusal("--global-batch-size 32 --step-batch-size-schedule 0:1"), "does not go with"));
}

TEST(ImportRefusals, NumbersThatNoRunCanHave) {
  for (const char* words :
       {"--rotary-base -1", "--rotary-base 0", "--attention-dropout 2", "--attention-dropout -0.1",
        "--hidden-dropout 2", "--hidden-dropout -1", "--distributed-timeout-minutes -5",
        "--rotary-percent 1.5", "--norm-epsilon -1e-5", "--num-layers 8.0", "--seq-length 1e3"}) {
    const std::string said = refusal(words), flag(words, std::strchr(words, ' '));
    EXPECT_TRUE(has(said, "stepcast_refusal.sh:1:")) << words << said;
    EXPECT_TRUE(has(said, flag + ": is ")) << words << said;
  }
  for (const char* words : {"--eval-iters -1", "--rotary-base 500000", "--rotary-percent 0.5",
                            "--attention-dropout 0.0", "--lr 1e-5"})
    EXPECT_EQ(refusal(words), "");
}

TEST(ImportRefusals, WarnsOfFlagsThatDoNotCount) {
  EXPECT_TRUE(has(warnings(data_path("msl_ling_1t.sh"), {{}, {}, "atlas-900-a3", {}, false}),
                  "--context-parallel-algo"));
  EXPECT_TRUE(has(warnings(data_path("msl_qwen3_235b.sh"), {{}, {}, "atlas-900-a3", {}, false}),
                  "--sequence-parallel: is switched off"));
  EXPECT_TRUE(
      has(warnings(script("--num-query-groups 4"), on_dgx()), "--num-query-groups: counts only"));
  EXPECT_TRUE(has(warnings(script("--q-lora-rank 4"), on_dgx()), "--q-lora-rank: counts only"));
}

TEST(ImportRefusals, RecipesInPythonAreNotRun) {
  const test::TemporaryFiles files;
  const auto said = [&](const std::string& text) {
    return refusal_of(files.write("recipe.py", text), on_dgx());
  };
  EXPECT_TRUE(has(said("from megatron.bridge import recipes\n"), "run_config.yaml"));
  EXPECT_TRUE(has(said("import os\n"), "the script that launches it"));
}

}  // namespace
}  // namespace stepcast
