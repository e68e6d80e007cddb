#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Arguments as frameworks print them, held to the scripts that they came from.
namespace stepcast {
namespace {

using test::has;
using namespace import_tests;

ImportedScenario import_printed(const std::string& path, std::vector<std::string> overrides = {},
                                const std::string& from = {}) {
  ImportOptions options;
  options.cluster = "dgx-h100";
  options.from = from;
  options.overrides = std::move(overrides);
  return import_launch(path, options, default_search_path({}));
}

std::string printed_complaint(const std::string& path, std::vector<std::string> overrides = {}) {
  try {
    (void)import_printed(path, std::move(overrides), "arguments");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

Scenario scenario_of(const ImportedScenario& imported) {
  return read_scenario(imported.document, default_search_path({}));
}

/// A line of a log, as Megatron-LM pads it.
std::string argument(const std::string& name, const std::string& value) {
  const std::size_t dots = name.size() < 48 ? 48 - name.size() : 0;
  return "  " + name + " " + std::string(dots, '.') + " " + value + "\n";
}

const std::string script_flags =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 "
    "--max-position-embeddings 1024 --padded-vocab-size 32000 --micro-batch-size 1 "
    "--global-batch-size 32 --tensor-model-parallel-size 2 --bf16 --swiglu --disable-bias-linear "
    "--untie-embeddings-and-output-weights --normalization RMSNorm --use-distributed-optimizer "
    "--position-embedding-type rope --no-rope-fusion --hidden-dropout 0.0 --attention-dropout 0.0 "
    "--num-experts 8 --moe-layer-freq '([0]*2+[1]*6)' --moe-router-topk 2 "
    "--moe-token-dispatcher-type alltoall";

/// The same as a run of it prints it: each value worked out, defaults among them.
std::string printed_list(const std::string& more = {}) {
  std::string text =
      "using world size: 16\n[rank0]: ------------------------ arguments "
      "------------------------\n";
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"accumulate_allreduce_grads_in_fp32", "True"},
           {"add_bias_linear", "False"},
           {"apply_rope_fusion", "False"},
           {"attention_backend", "AttnBackend.auto"},
           {"attention_dropout", "0.0"},
           {"bf16", "True"},
           {"consumed_train_samples", "0"},
           {"cp_comm_type", "['p2p']"},
           {"encoder_num_layers", "8"},
           {"ffn_hidden_size", "2688"},
           {"fp8", "None"},
           {"global_batch_size", "32"},
           {"group_query_attention", "False"},
           {"hidden_dropout", "0.0"},
           {"hidden_size", "1024"},
           {"img_h", "224"},
           {"kv_channels", "128"},
           {"lr", "0.0003"},
           {"main_params_dtype", "torch.float32"},
           {"max_position_embeddings", "1024"},
           {"micro_batch_size", "1"},
           {"moe_layer_freq", "[0, 0, 1, 1, 1, 1, 1, 1]"},
           {"moe_router_topk", "2"},
           {"moe_token_dispatcher_type", "alltoall"},
           {"normalization", "RMSNorm"},
           {"num_attention_heads", "8"},
           {"num_experts", "8"},
           {"num_layers", "8"},
           {"num_layers_at_start_in_bf16", "1"},
           {"num_query_groups", "1"},
           {"overlap_p2p_comm", "False"},
           {"params_dtype", "torch.bfloat16"},
           {"position_embedding_type", "rope"},
           {"seq_length", "1024"},
           {"sequence_parallel", "False"},
           {"swiglu", "True"},
           {"tensor_model_parallel_size", "2"},
           {"transformer_impl", "transformer_engine"},
           {"untie_embeddings_and_output_weights", "True"},
           {"use_distributed_optimizer", "True"},
           {"vocab_size", "None"},
           {"world_size", "16"}})
    text += "[rank0]: " + argument(name, value);
  return text + more +
         "-------------------- end of arguments ---------------------\n"
         " > padded vocab (size: 31999) with 1 dummy tokens (new size: 32000)\n";
}

TEST(PrintedArguments, AreTheScenarioOfTheirScript) {
  const test::TemporaryFiles files;
  const std::string script = files.write(
      "train.sh", "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py " + script_flags + "\n");
  const std::string log = files.write("train.log", printed_list());
  const ImportedScenario printed = import_printed(log);
  const Scenario run = scenario_of(printed), launched = scenario_of(import_printed(script));
  EXPECT_EQ(run.content, launched.content);
  ASSERT_EQ(printed.warnings.size(), 2U) << printed.warnings.back();
  EXPECT_TRUE(has(printed.warnings.front(), "prints no environment"));
  EXPECT_TRUE(has(printed.warnings.back(), "is assumed to be megatron-core"));
  EXPECT_TRUE(is_launch_file(log, default_search_path({})));
  EXPECT_FALSE(is_launch_file(files.write("notes.txt", "nothing"), default_search_path({})));
}

TEST(PrintedArguments, TheLastListCountsAndSignsOfTerminalsDoNot) {
  const test::TemporaryFiles files;
  std::string first = printed_list();
  first.replace(first.find(" 32\n"), 4, " 64\n");
  const std::string log = files.write("run.out", first + "\x1b[32m restarted\r\n" + printed_list());
  EXPECT_EQ(scenario_of(import_printed(log)).workload.training.global_batch, 32);
}

TEST(PrintedArguments, WhatIsUnknownIsRefusedUnlessItIsOff) {
  const test::TemporaryFiles files;
  const auto with = [&](const std::string& name, const std::string& value) {
    return printed_complaint(files.write("l.log", printed_list(argument(name, value))));
  };
  EXPECT_EQ(with("my_new_kernel", "False"), "");
  EXPECT_EQ(with("my_new_kernel", "None"), "");
  EXPECT_EQ(with("softmax_type", "vanilla"), "");
  EXPECT_TRUE(has(with("my_new_kernel", "True"), "l.log:")) << with("my_new_kernel", "True");
  EXPECT_TRUE(has(with("my_new_kernel", "True"), "my_new_kernel: is True"));
  EXPECT_TRUE(has(with("softmax_form", "learnable"), "softmax_form: is learnable"));
  EXPECT_TRUE(has(with("fp4", "e2m1"), "FP4")) << with("fp4", "e2m1");
  EXPECT_TRUE(has(printed_complaint(files.write("empty.log", "nothing\n")), "prints no arguments"));
}

TEST(PrintedArguments, OthersAreToldByTheirNames) {
  const test::TemporaryFiles files;
  const std::string more = argument("use_fused_rmsnorm", "True") +
                           argument("use_flash_attn", "True") +
                           argument("context_parallel_algo", "megatron_cp_algo");
  const std::string log = files.write("msl.log", printed_list(more));
  ImportOptions options;
  options.cluster = "atlas-800t-a2";
  const ImportedScenario imported = import_launch(log, options, default_search_path({}));
  EXPECT_TRUE(has(imported.text, "use_flash_attn")) << imported.text;
  EXPECT_EQ(scenario_of(imported).workload.runtime.kernels.norm, KernelSpec::Norm::fused);
}

TEST(PrintedArguments, AWrittenConfigurationIsTakenByTheSameOption) {
  const auto content = [](const std::string& from) {
    ImportOptions options;
    options.cluster = "dgx-h100";
    options.devices = 64;
    options.from = from;
    const SearchPath search = default_search_path({});
    return read_scenario(
               import_launch(data_path("bridge_run_config.yaml"), options, search).document, search)
        .content;
  };
  EXPECT_EQ(content("arguments"), content("nemo"));
}

}  // namespace
}  // namespace stepcast
