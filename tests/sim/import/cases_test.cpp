#include <gtest/gtest.h>

#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Launch files that were read wrongly or refused needlessly, each with the right values.
namespace stepcast {
namespace {

using namespace import_tests;
using test::has;

struct Read {
  std::string text, warnings, wrong;
};

Read read_case(const std::string& name, const std::string& text, const std::string& cluster,
               const std::vector<std::string>& sets = {}, const std::string& devices = {}) {
  static const test::TemporaryFiles files;
  ImportOptions options;
  options.cluster = cluster;
  options.overrides = sets;
  if (!devices.empty()) options.devices = std::stoll(devices);
  Read read;
  try {
    const ImportedScenario imported =
        import_launch(files.write(name, text), options, default_search_path({}));
    read.text = read_scenario(imported.document, default_search_path({})).content;
    for (const std::string& warning : imported.warnings) read.warnings += warning + "\n";
  } catch (const InputError& error) {
    read.wrong = error.what();
  }
  return read;
}

void expect_all(const Read& read, const std::vector<std::string>& parts) {
  EXPECT_EQ(read.wrong, "");
  for (const std::string& part : parts)
    EXPECT_TRUE(has("\n" + read.text, "\n" + part + "\n")) << part << "\n" << read.text;
}

const std::string norms = " --normalization RMSNorm --disable-bias-linear --hidden-dropout 0 ";
const std::string dense_layers =
    " --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 8192 "
    "--position-embedding-type rope --padded-vocab-size 32000 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 --use-distributed-optimizer --use-flash-attn" +
    norms;
const std::string on_two = "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py ";
const std::string ascend = "export HCCL_CONNECT_TIMEOUT=1800\n" + on_two;

TEST(ImportCases, TanhGeluIsGatedInMindSpeed) {
  const std::string gemma =
      ascend +
      "--num-layers 46 --hidden-size 4608 --ffn-hidden-size 36864 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 16 --kv-channels 128 --seq-length 8192 "
      "--gelu-tanh --post-norm --interleave-sliding-window 4096 --position-embedding-type rope "
      "--padded-vocab-size 256000 --bf16 --use-distributed-optimizer --use-flash-attn "
      "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --num-layer-list 20,26 "
      "--sequence-parallel --micro-batch-size 1 --global-batch-size 64" +
      norms;
  expect_all(read_case("gemma.sh", gemma, "atlas-800t-a2"),
             {"model.ffn.kind=swiglu", "runtime.kernels.activation=formula"});
  // Gates other than SwiGLU are as wide as GELU where no width is said.
  expect_all(read_case("wide.sh", ascend + "--gelu-tanh" + dense_layers, "atlas-800t-a2"),
             {"model.ffn.hidden=4096"});
}

const std::string moe =
    "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py " + dense_layers +
    "--swiglu --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 512 "
    "--moe-router-score-function sigmoid --moe-router-dtype fp32 --moe-aux-loss-coeff 0.0001 "
    "--moe-router-load-balancing-type seq_aux_loss --moe-z-loss-coeff 0.001 --moe-grouped-gemm "
    "--moe-token-dispatcher-type alltoall --moe-permute-fusion --expert-model-parallel-size 8 "
    "--expert-tensor-parallel-size 1 ";

TEST(ImportCases, RoutersAreTakenWhole) {
  const std::vector<std::string> keys{
      "moe.router.aux_loss=true",         "moe.router.z_loss=true",
      "moe.router.score=sigmoid",         "moe.router.precision=fp32",
      "moe.experts=multi_stream",         "moe.dispatcher=megatron_0.14",
      "runtime.kernels.router=statements"};
  expect_all(read_case("router.sh", moe, "dgx-h100"), keys);
  const Read fused = read_case("fused.sh", moe + "--moe-router-fusion", "dgx-h100");
  expect_all(fused, {"runtime.kernels.router=fused", "moe.router.score=softmax"});
  EXPECT_TRUE(has(fused.warnings, "--moe-router-score-function sigmoid: changes nothing here"));
  expect_all(read_case("older.sh", moe + "--moe-use-legacy-grouped-gemm", "dgx-h100"),
             {"moe.experts=grouped"});
  expect_all(read_case("local.sh", moe + "--transformer-impl local", "dgx-h100"),
             {"moe.experts=grouped"});
  const Read none = read_case("none.sh", moe + "--moe-aux-loss-coeff 0", "dgx-h100");
  expect_all(none, {"moe.router.aux_loss=false"});
}

TEST(ImportCases, DocumentsThatHideFromEachOther) {
  const std::string script = on_two + dense_layers + "--swiglu --reset-attention-mask ";
  const Read silent = read_case("reset.sh", script, "dgx-a100");
  EXPECT_TRUE(has(silent.warnings, "schedule.data.documents")) << silent.warnings;
  expect_all(silent, {"schedule.data.mask=causal"});
  const std::string documents = "schedule.data.documents={mean: 2000}";
  expect_all(read_case("said.sh", script, "dgx-a100", {documents}),
             {"schedule.data.mask=document", "schedule.data.packing=sequential"});
  expect_all(read_case("fixed.sh",
                       ascend + dense_layers +
                           "--swiglu --reset-attention-mask "
                           "--fix-sub-seq-length 1024",
                       "atlas-800t-a2"),
             {"schedule.data.mask=document", "schedule.data.documents.length=1024"});
}

TEST(ImportCases, SparseAttentionInBothWords) {
  const std::string latent =
      dense_layers +
      "--swiglu --multi-latent-attention --q-lora-rank 512 --kv-lora-rank 128 "
      "--qk-head-dim 64 --qk-pos-emb-head-dim 32 --v-head-dim 64 --qk-layernorm ";
  const std::vector<std::string> keys{"model.attention.index_heads=64",
                                      "model.attention.index_dim=128",
                                      "model.attention.index_top_k=2048"};
  expect_all(read_case("dsa.sh",
                       ascend + latent +
                           "--enable-dsa-indexer --index-n-heads 64 "
                           "--index-head-dim 128 --index-topk 2048",
                       "atlas-900-a3"),
             keys);
  expect_all(read_case("short.sh", ascend + latent + "--enable-dsa-indexer", "atlas-900-a3"), keys);
  expect_all(read_case("dsa-megatron.sh",
                       on_two + latent +
                           "--experimental-attention-variant dsa "
                           "--dsa-indexer-n-heads 64 --dsa-indexer-head-dim 128 "
                           "--dsa-indexer-topk 2048",
                       "dgx-h100"),
             keys);
}

TEST(ImportCases, FlagsWithoutEffectBlockNothing) {
  const Read read = read_case(
      "plain.sh",
      ascend + dense_layers +
          "--swiglu --add-rmsnorm-offset --long-factor 1.0,1.1 --short-factor 1.0,1.0 --workers 4 "
          "--init-norm-weight-in-fp32 --rmsnorm-weight-in-fp32 --long-mscale 1 --short-mscale 1 "
          "--hf-cfg-dir x --enable-mg2hf-convert --use-triton-gdn --use-fused-lightning-indexer "
          "--indexer-loss-coeff 1",
      "atlas-800t-a2");
  EXPECT_EQ(read.wrong, "");
}

TEST(ImportCases, KernelsOfProductsAndCollectives) {
  const std::string dense = ascend + dense_layers + "--swiglu ";
  const Read cut =
      read_case("mc2.sh", dense + "--use-mc2 --tensor-model-parallel-size 8 --sequence-parallel",
                "atlas-800t-a2");
  expect_all(cut, {"communication.tensor.overlap=chunks(4)"});
  EXPECT_TRUE(has(cut.warnings, "--use-mc2: is taken for four pieces")) << cut.warnings;
  const Read whole = read_case("one.sh", dense + "--use-mc2", "atlas-800t-a2");
  expect_all(whole, {"communication.tensor.overlap=none"});
  EXPECT_TRUE(has(whole.warnings, "--use-mc2: counts only with tensor and sequence"));
}

const std::string run_config =
    "train: {global_batch_size: 64, micro_batch_size: 1}\n"
    "model: {num_layers: 8, hidden_size: 1024, ffn_hidden_size: 4096, num_attention_heads: 16, "
    "num_query_groups: 8, seq_length: 4096, vocab_size: 32000, normalization: RMSNorm, "
    "gated_linear_unit: true, add_bias_linear: false, position_embedding_type: rope, "
    "share_embeddings_and_output_weights: false, tensor_model_parallel_size: 1, "
    "pipeline_model_parallel_size: 1}\n"
    "ddp: {use_distributed_optimizer: true, overlap_grad_reduce: true}\n"
    "mixed_precision: bf16_mixed\n";

TEST(ImportCases, AdaptersOfMegatronBridge) {
  const auto read = [](const std::string& peft) {
    return read_case("peft.yaml", run_config + peft, "dgx-h100", {}, "8");
  };
  expect_all(
      read("peft:\n  _target_: lora\n  target_modules: [linear_qkv, linear_proj]\n  dim: 16\n"
           "  alpha: 32\n"),
      {"training.adapters.rank=16",
       "training.adapters.targets={modules: [query, key, value, attention_out]}",
       "training.adapters.products=joined", "training.adapters.dropout=false"});
  expect_all(
      read("peft: {_target_: megatron.bridge.peft.canonical_lora.CanonicalLoRA, dropout: 0.1}\n"),
      {"training.adapters.rank=32", "training.adapters.targets=all",
       "training.adapters.products=apart", "training.adapters.dropout=true"});
  EXPECT_EQ(read("peft: null\n").wrong, "");
  EXPECT_TRUE(has(read("peft: {_target_: megatron.bridge.peft.dora.DoRA, dim: 8}\n").wrong,
                  "which training.adapters lacks, allowed: lora, canonical_lora, or without it"));
  EXPECT_TRUE(
      has(read("peft: {_target_: lora, target_modules: [linear_qkv, router]}\n").wrong,
          "peft.target_modules: names 'router', which no word of training.adapters.targets"));
}

TEST(ImportCases, AdaptersOfNemo) {
  const auto read = [](const std::string& peft) {
    std::string text = run_config;
    const std::size_t end = text.find("pipeline_model_parallel_size: 1}");
    text.insert(end + std::string("pipeline_model_parallel_size: 1").size(),
                ", peft: {" + peft + "}");
    return read_case("nemo.yaml", text, "dgx-h100", {}, "8");
  };
  expect_all(
      read("peft_scheme: lora, lora_tuning: {adapter_dim: 8, adapter_dropout: 0.0, "
           "target_modules: [attention_qkv], column_init_method: xavier}, p_tuning: "
           "{virtual_tokens: 10}"),
      {"training.adapters.rank=8", "training.adapters.targets={modules: [query, key, value]}"});
  EXPECT_EQ(read("peft_scheme: none, lora_tuning: {adapter_dim: 8}").wrong, "");
  EXPECT_TRUE(
      has(read("peft_scheme: ptuning").wrong, "is 'ptuning', which training.adapters lacks"));
}

// Defaults of mindformers/pet/pet_config.py: rank 8, dropout 0.01, no targets.
TEST(ImportCases, AdaptersOfMindFormers) {
  const auto read = [](const std::string& pet) {
    return read_case(
        "lora.yaml",
        "runner_config: {batch_size: 1, gradient_accumulation_steps: 1}\n"
        "use_parallel: true\n"
        "parallel: {enable_parallel_optimizer: true}\n"
        "parallel_config: {data_parallel: 8, model_parallel: 1, pipeline_stage: 1}\n"
        "model:\n"
        "  model_config: {type: LlamaConfig, hidden_size: 1024, num_layers: 4, num_heads: 8, "
        "vocab_size: 32000, intermediate_size: 2816, seq_length: 2048, compute_dtype: bfloat16, "
        "pet_config: {" +
            pet + "}}\n  arch: {type: LlamaForCausalLM}\n",
        "atlas-800t-a2", {}, "8");
  };
  expect_all(read("pet_type: lora, target_modules: '.*wq|.*wv'"),
             {"training.adapters.rank=8", "training.adapters.targets={modules: [query, value]}",
              "training.adapters.dropout=true"});
  expect_all(read("pet_type: lora, lora_rank: 16, lora_dropout: 0.0, target_modules: '.*wo'"),
             {"training.adapters.rank=16", "training.adapters.targets={modules: [attention_out]}",
              "training.adapters.dropout=false"});
  EXPECT_TRUE(has(read("pet_type: lora").wrong, "stands without target_modules"));
  EXPECT_TRUE(has(read("pet_type: p_tuning_v2").wrong, "which training.adapters lacks"));
}

TEST(ImportCases, AdaptersOfMindSpeed) {
  const std::string dense =
      ascend + dense_layers + "--swiglu --tensor-model-parallel-size 2 --lora-alpha 32 ";
  expect_all(read_case("lora.sh",
                       dense + "--lora-r 8 --lora-target-modules linear_qkv linear_proj linear_fc1 "
                               "linear_fc2 --qlora-nf4",
                       "atlas-800t-a2"),
             {"training.adapters.rank=8", "training.adapters.targets=all",
              "training.adapters.products=joined", "training.adapters.split=one",
              "training.adapters.frozen=nf4"});
  const Read idle = read_case("none.sh", dense + "--lora-r 8", "atlas-800t-a2");
  EXPECT_TRUE(has(idle.warnings, "--lora-r: counts only with --lora-target-modules"))
      << idle.warnings;
}

TEST(ImportCases, SwitchesThatAreOffContradictTheFramework) {
  const std::string off = "\n" + std::string(
                                     "ddp: {use_distributed_optimizer: false, "
                                     "overlap_grad_reduce: false}\n");
  expect_all(read_case("on.yaml", run_config, "dgx-h100", {}, "8"),
             {"parallel.zero=1", "communication.gradient.overlap=true", "training.dropout=false"});
  expect_all(
      read_case("off.yaml",
                run_config.substr(0, run_config.find("ddp:")) + off + "mixed_precision: bf16_mixed",
                "dgx-h100", {}, "8"),
      {"parallel.zero=0", "communication.gradient.overlap=false"});
}

TEST(ImportCases, ArgumentsAndVariablesOfScripts) {
  static const test::TemporaryFiles files;
  const std::string script =
      "KIND=$1\nMBS=$2\nif [ $KIND = box ]; then\n  NODES=1\nelse\n  NODES=$WORLD\nfi\n"
      "torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py --num-layers 8 --hidden-size "
      "1024 --num-attention-heads 16 --seq-length 1024 --padded-vocab-size 32000 --bf16 "
      "--global-batch-size 64 --max-position-embeddings 1024 --micro-batch-size $MBS "
      "--tensor-model-parallel-size $TP\n";
  const std::string path = files.write("train.sh", script);
  const auto said = [&](ImportOptions options) -> std::string {
    options.cluster = "dgx-h100";
    try {
      return import_launch(path, options, default_search_path({})).text;
    } catch (const InputError& error) {
      return error.what();
    }
  };
  ImportOptions whole;
  whole.arguments = {"box", "2"};
  whole.environment = {"TP=4"};
  for (const char* part : {"devices: 8", "micro_batch: 2", "tp: 4"})
    EXPECT_TRUE(has(said(whole), part)) << said(whole);
  whole.environment = {};
  EXPECT_TRUE(has(said(whole),
                  "--tensor-model-parallel-size: has no value, as TP is not set; give "
                  "--env TP=VALUE, or --set parallel.tp=.."));
  EXPECT_EQ(said(whole).find('\n'), std::string::npos) << "one message: " << said(whole);
  whole.overrides = {"parallel.tp=4"};
  EXPECT_TRUE(has(said(whole), "tp: 4"));
  EXPECT_TRUE(has(said({}), "$1 (line 1)")) << said({});
  whole.environment = {"TP"};
  EXPECT_TRUE(has(said(whole), "--env: is 'TP', allowed: NAME=VALUE"));
}

TEST(ImportCases, LinesOfSlurm) {
  const std::string script =
      "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\nsrun python pretrain_gpt.py " +
      dense_layers + "--swiglu --tensor-model-parallel-size $SLURM_NTASKS_PER_NODE\n";
  expect_all(read_case("slurm.sh", script, "dgx-h100"), {"cluster.devices=32", "parallel.tp=8"});
}

TEST(ImportCases, BothOverlapsMayBeSaidToBeOff) {
  const SearchPath search = default_search_path({});
  const std::string text =
      "stepcast: 1\ncluster: {extends: clusters/dgx-a100.yaml, devices: 32}\n"
      "model: {extends: models/llama-13b.yaml}\n"
      "parallel: {tp: 2, zero: 1, sequence_parallel: true}\n"
      "training: {sequence: 2048, global_batch: 2048, micro_batch: 2}\n"
      "communication: {gradient: {overlap: false}, parameter: {overlap: false}}\n";
  const Node root = load_document_text(text, "both-off.yaml", search);
  EXPECT_NO_THROW((void)read_scenario(ScenarioDocument{root, "both-off.yaml", {}}, search));
}

}  // namespace
}  // namespace stepcast
