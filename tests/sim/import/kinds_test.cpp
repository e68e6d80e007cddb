#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "sim/import/flags.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Kinds of launch files: told by what they launch and how they are written, each read by its own
// rules or refused in one message.
namespace stepcast {
namespace {

using namespace import_tests;
using test::has;

struct Answer {
  std::string keys, said, wrong;
};

Answer answer_of(const std::string& path, ImportOptions options) {
  Answer answer;
  if (options.cluster.empty()) options.cluster = "dgx-h100";
  try {
    const ImportedScenario imported = import_launch(path, options, default_search_path({}));
    answer.keys = "\n" + read_scenario(imported.document, default_search_path({})).content + "\n";
    for (const std::string& warning : imported.warnings) answer.said += warning + "\n";
  } catch (const InputError& error) {
    answer.wrong = error.what();
  }
  return answer;
}

Answer answer_of(const std::string& name, const std::string& text, ImportOptions options) {
  static const test::TemporaryFiles files;
  return answer_of(files.write(name, text), std::move(options));
}

void expect_keys(const Answer& answer, const std::vector<std::string>& keys) {
  EXPECT_EQ(answer.wrong, "");
  for (const std::string& key : keys)
    EXPECT_TRUE(has(answer.keys, "\n" + key + "\n")) << key << answer.keys;
}

ImportOptions of_size(std::int64_t devices, std::vector<std::string> sets = {}) {
  ImportOptions options;
  options.devices = devices;
  options.overrides = std::move(sets);
  return options;
}

const std::string flagscale =
    "system:\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n"
    "  sequence_parallel: true\n  use_distributed_optimizer: true\n  disable_bias_linear: true\n"
    "  precision:\n    bf16: true\n  logging:\n    log_interval: 1\n"
    "model:\n  num_layers: 16\n  hidden_size: 2048\n  num_attention_heads: 16\n"
    "  group_query_attention: true\n  num_query_groups: 4\n  seq_length: 4096\n"
    "  use_rotary_position_embeddings: true\n  no_position_embedding: true\n  swiglu: true\n"
    "  normalization: RMSNorm\n  untie_embeddings_and_output_weights: true\n"
    "  hidden_dropout: 0.0\n  attention_dropout: 0.0\n  micro_batch_size: 2\n"
    "  global_batch_size: 64\n  optimizer:\n    lr_scheduler: {lr: 1.0e-4}\n";
const std::string tokenizer = "data:\n  tokenizer:\n    vocab_size: 50001\n";

TEST(ImportKinds, FlagScaleIsMegatronInSections) {
  const Answer plain =
      answer_of("fs.yaml", flagscale + "  ffn_hidden_size: 5504\n" + tokenizer, of_size(64));
  expect_keys(plain, {"parallel.tp=4", "parallel.pp=2", "parallel.zero=1",
                      "parallel.sequence_parallel=true", "model.ffn.kind=swiglu",
                      "model.ffn.hidden=5504", "model.bias=none", "model.tied_embeddings=false",
                      "model.position=rope", "training.precision=bf16",
                      "model.vocabulary=50176"});  // 50001 -> a multiple of 128 x 4
  // Two thirds of 4 x 2048 are 5461, x 1.3 = 7099, up to a multiple of 256.
  expect_keys(
      answer_of("wide.yaml",
                flagscale + "  multiple_of: 256\n  hidden_dim_multiplier: 1.3\n" + tokenizer,
                of_size(64)),
      {"model.ffn.hidden=7168"});
  EXPECT_TRUE(
      has(answer_of("hetero.yaml", flagscale + "  enable_hetero: true\n" + tokenizer, of_size(64))
              .wrong,
          "enable_hetero"));
}

TEST(ImportKinds, AnExperimentOfFlagScaleNamesItsTraining) {
  const test::TemporaryFiles files;
  const std::string path = files.write(
      "train.yaml",
      "defaults:\n  - _self_\n  - train: small\nexperiment:\n  task: {backend: megatron}\n"
      "  seed: 7\n  runner: {nnodes: 4, nproc_per_node: 8}\n");
  EXPECT_TRUE(has(answer_of(path, {}).wrong, "small.yaml"));
  std::filesystem::create_directories(std::filesystem::path(path).parent_path() / "train");
  std::ofstream(std::filesystem::path(path).parent_path() / "train" / "small.yaml")
      << flagscale << "  seed: ${experiment.seed}\n"
      << tokenizer;
  expect_keys(answer_of(path, {}), {"cluster.devices=32", "parallel.tp=4"});
}

TEST(ImportKinds, ArgumentsOfMegatronInYaml) {
  const std::string flat =
      "num_layers: 8\nhidden_size: 1024\nnum_attention_heads: 16\nseq_length: 2048\n"
      "padded_vocab_size: 32000\nmicro_batch_size: 1\nglobal_batch_size: 64\nbf16: true\n"
      "swiglu: true\nposition_embedding_type: rope\napply_rope_fusion: false\n"
      "add_bias_linear: false\ntensor_model_parallel_size: 2\n";
  expect_keys(answer_of("args.yaml", flat, of_size(16)),
              {"model.ffn.kind=swiglu", "model.bias=none", "parallel.tp=2",
               "runtime.kernels.rope=unfused", "model.attention.kv_heads=16"});
  // In sections they are fields of the configuration: groups count by themselves.
  expect_keys(answer_of("sections.yaml",
                        "language_model:\n  num_query_groups: 4\n  hidden_dropout: 0.0\n" + flat,
                        of_size(16)),
              {"model.attention.kv_heads=4", "training.dropout=false"});
}

TEST(ImportKinds, PrimusStandsOnFilesOfItsRepository) {
  namespace fs = std::filesystem;
  const test::TemporaryFiles files;
  const std::string text =
      "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
      "    model: tiny.yaml\n    overrides:\n      tensor_model_parallel_size: ${TINY_TP:2}\n"
      "      global_batch_size: 32\n";
  const std::string path = files.write("experiment.yaml", text);
  const fs::path configs = fs::path(path).parent_path() / "primus" / "configs";
  EXPECT_TRUE(has(answer_of(path, of_size(16)).wrong, "primus/configs/models/megatron"));
  for (const char* folder : {"modules", "models"})
    fs::create_directories(configs / folder / "megatron");
  std::ofstream(configs / "modules/megatron/base.yaml")
      << "micro_batch_size: 2\nbf16: true\nuse_distributed_optimizer: true\nuse_flash_attn: true\n"
         "enable_zero_bubble: true\n";
  std::ofstream(configs / "modules/megatron/pre_trainer.yaml")
      << "extends:\n  - base.yaml\nmicro_batch_size: 1\nseq_length: 1024\n";
  std::ofstream(configs / "models/megatron/tiny.yaml")
      << "num_layers: 8\nhidden_size: 1024\nnum_attention_heads: 16\nswiglu: true\n"
         "ffn_hidden_size: 4096\nadd_bias_linear: false\nposition_embedding_type: rope\n"
         "normalization: RMSNorm\nkv_lora_rank: 32\nmulti_latent_attention: false\n"
         "padded_vocab_size: 32000\nuntie_embeddings_and_output_weights: true\n";
  expect_keys(answer_of(path, of_size(16)),
              {"parallel.tp=2", "training.micro_batch=1", "training.global_batch=32",
               "parallel.zero=1", "model.attention.kind=gqa", "model.ffn.hidden=4096"});
  ImportOptions four = of_size(16);
  four.environment = {"TINY_TP=4"};
  expect_keys(answer_of(path, four), {"parallel.tp=4"});
}

const std::string python_titan =
    "from somewhere import other\n\n\ndef {} -> Trainer.Config:\n"
    "    \"\"\"Of a test.\"\"\"\n"
    "    spec = model_registry(\"8B\", attn_backend=\"sdpa\")\n"
    "    return Trainer.Config(\n        model_spec=spec,  # of this folder\n"
    "        optimizer=default_adamw(lr=3e-4),\n"
    "        training=TrainingConfig(local_batch_size=1 * 2, seq_len=4 * 1024, steps=10),\n"
    "        parallelism=ParallelismConfig(\n            data_parallel_shard_degree=-1,\n"
    "            tensor_parallel_degree=4,\n        ),\n"
    "        activation_checkpoint=ActivationCheckpointConfig(mode=\"full\"),\n    )\n";

std::string with_name(const std::string& text, const std::string& function) {
  std::string all = text;
  return all.replace(all.find("{}"), 2, function + "()");
}

TEST(ImportKinds, ConfigurationsOfTorchtitanInPython) {
  const test::TemporaryFiles files;
  const std::filesystem::path folder =
      std::filesystem::path(files.write("x.txt", "")).parent_path() / "llama3";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "config_registry.py").string();
  std::ofstream(path) << with_name(python_titan, "small");
  expect_keys(answer_of(path, of_size(64)),
              {"parallel.tp=4", "training.micro_batch=2", "training.sequence=4096",
               "training.recompute=full", "parallel.zero=3", "training.global_batch=32",
               "model.layers=32", "model.hidden=4096"});
  // A second function that starts from the first, with tokens instead of sequences.
  std::ofstream(path) << with_name(python_titan, "small") << "\n\n"
                      << "def large() -> Trainer.Config:\n    config = small()\n"
                         "    config.parallelism.tensor_parallel_degree = 8\n"
                         "    config.training = TrainingConfig(\n"
                         "        num_tokens_per_microbatch_per_dp_rank=3 * 8192,\n"
                         "        max_context_length=8192)\n"
                         "    config.activation_checkpoint = FullAC.Config()\n    return config\n";
  EXPECT_TRUE(has(answer_of(path, of_size(64)).wrong, "small, large"));
  ImportOptions large = of_size(64);
  large.arguments = {"large"};
  expect_keys(answer_of(path, large),
              {"parallel.tp=8", "training.micro_batch=3", "training.sequence=8192",
               "training.global_batch=24", "training.recompute=full"});
  large.arguments = {"none"};
  EXPECT_TRUE(has(answer_of(path, large).wrong, "has no configuration none"));
  // What would have to be run is named with its place.
  std::ofstream(path) << "def odd() -> Trainer.Config:\n    config = Trainer.Config()\n"
                         "    if True:\n        config.training = None\n    return config\n";
  EXPECT_TRUE(has(answer_of(path, of_size(64)).wrong, ":3:5: is a statement that is not followed"));
}

TEST(ImportKinds, OtherProgramsInPythonAreNamed) {
  const auto wrong = [](const std::string& text) {
    return answer_of("other.py", text, of_size(8)).wrong;
  };
  EXPECT_TRUE(has(wrong("from megatron.bridge import x\n"), "Megatron-Bridge"));
  EXPECT_TRUE(has(wrong("model = dict(a=1)\nparallel = dict(b=2)\n"), "InternEvo"));
  EXPECT_TRUE(has(wrong("print(1)\n"), "the script that launches it"));
  EXPECT_TRUE(is_launch_file("other.py", default_search_path({}))) << "run says the same";
}

TEST(ImportKinds, ProgramsThatTakeWordsAreNoTrainingThatIsKnown) {
  const std::string script =
      "python3 -m some_rl.main --config-name='a' data.batch=512 model.path=x/y "
      "actor.megatron.tensor_model_parallel_size=4 trainer.nnodes=2\n";
  const std::string wrong = answer_of("rl.sh", script, {}).wrong;
  EXPECT_TRUE(has(wrong, "launches some_rl.main with 4 words of the form key=value")) << wrong;
  EXPECT_EQ(wrong.find('\n'), std::string::npos) << wrong;
  // A third of unknown names is another program, whatever may be passed over.
  ImportOptions all;
  all.ignore_unknown = true;
  const std::string other =
      answer_of("ppo.sh",
                "deepspeed --module other.cli.train --pretrain x --rollout_size 4 --bf16 "
                "--actor_num_nodes 2 --prompt_data y --micro-batch-size 1\n",
                all)
          .wrong;
  EXPECT_TRUE(has(other, "launches other.cli.train, which is no training that is known")) << other;
  EXPECT_EQ(other.find('\n'), std::string::npos) << other;
}

const std::string one_dense =
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
    "--num-attention-heads 16 --seq-length 1024 --position-embedding-type rope --bf16 "
    "--padded-vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 --swiglu ";

TEST(ImportKinds, NamesWithAnEffectElsewhereAreNotPassedOver) {
  ImportOptions all;
  all.ignore_unknown = true;
  EXPECT_TRUE(has(answer_of("small.sh", one_dense + "--colour blue", all).said,
                  "--colour: is unknown and was ignored"));
  const std::string wrong =
      answer_of("cp.sh", one_dense + "--ds-sequence-parallel-size 2", all).wrong;
  EXPECT_TRUE(has(wrong, "has an effect on parallel.cp in Megatron-DeepSpeed")) << wrong;
  all.overrides = {"parallel.cp=2", "parallel.context_algorithm=ulysses"};
  EXPECT_EQ(answer_of("cp.sh", one_dense + "--ds-sequence-parallel-size 2", all).wrong, "");
}

/// Every name that has an effect in one framework, as an unknown one of Megatron-LM.
TEST(ImportKinds, NoNameWithAnEffectIsPassedOver) {
  ImportOptions all;
  all.ignore_unknown = true;
  std::size_t tried = 0;
  for (const launch::FlagTable& table : launch::flag_tables()) {
    if (table.framework == launch::Framework::megatron || table.prefix != "--") continue;
    for (const launch::Flag& flag : table.flags) {
      const bool effect = flag.treatment == launch::Treatment::taken ||
                          flag.treatment == launch::Treatment::lacking ||
                          flag.treatment == launch::Treatment::refused;
      if (!effect || launch::find_flag(launch::Framework::megatron, flag.name) ||
          flag.name == "--enable" || flag.name == "--topk" || flag.name == "--stage" ||
          flag.name.starts_with("--deepspeed"))
        continue;
      ++tried;
      if (tried % 4 != 0) continue;  // each is an import
      const Answer answer = answer_of("other.sh", one_dense + std::string(flag.name) + " 3", all);
      EXPECT_NE(answer.wrong, "") << flag.name << answer.said;
    }
  }
  EXPECT_GT(tried, 60U);
}

TEST(ImportKinds, TheFsdp2TrainerOfMindSpeed) {
  const test::TemporaryFiles files;
  const std::string flags =
      "torchrun --nproc_per_node 16 --nnodes 1 train_fsdp2.py {}"
      " --model.model_name_or_path ./models/some-8b --parallel.fsdp_size 16 "
      "--training.per_device_train_batch_size 2 --training.gradient_accumulation_steps 4 "
      "--data.cutoff_len 4096 --parallel.recompute true --optimization.use_fused_rmsnorm True\n";
  const auto script = [&](const std::string& yaml) {
    std::string all = flags;
    return files.write("train.sh", all.replace(all.find("{}"), 2, yaml));
  };
  ImportOptions options;
  options.cluster = "atlas-900-a3";
  EXPECT_TRUE(has(answer_of(script(""), options).wrong, "give --set model.hf_config=config.json"));
  options.overrides = {"model.extends=models/llama3-8b.yaml"};
  expect_keys(answer_of(script(""), options),
              {"parallel.zero=3", "training.recompute=full", "training.micro_batch=2",
               "training.global_batch=128", "training.sequence=4096", "cluster.devices=16",
               "runtime.kernels.norm=fused", "runtime.kernels.rope=unfused",
               "communication.gradient.precision=fp32"});
  EXPECT_TRUE(has(answer_of(script("small.yaml"), options).wrong, "names small.yaml"));
  // Flags count before the file.
  files.write("small.yaml",
              "data:\n  cutoff_len: 1024\nparallel:\n  fsdp_modules:\n    - model.layers.{*}\n"
              "  recompute_modules:\n    - model.layers.{*}\n  cp_size: 2\n  recompute: False\n"
              "training:\n  stage: pt\n  optimizer: adamw\n");
  expect_keys(answer_of(script("conf/small.yaml"), options),
              {"training.sequence=4096", "parallel.cp=2", "training.global_batch=64",
               "parallel.context_algorithm=ulysses", "training.recompute=full"});
}

const std::string zero3 =
    "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\", "
    "\"gradient_accumulation_steps\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}, "
    "\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": true, \"reduce_bucket_size\": "
    "\"auto\", \"stage3_prefetch_bucket_size\": \"auto\"}}";
const std::string small_config =
    "{\"model_type\": \"llama\", \"hidden_size\": 1024, \"intermediate_size\": 2816, "
    "\"num_hidden_layers\": 8, \"num_attention_heads\": 16, \"vocab_size\": 32000, "
    "\"tie_word_embeddings\": false}";

TEST(ImportKinds, ListsAndVariablesOfMegatronsTests) {
  const std::string text =
      "ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}\nMODEL_ARGS:\n"
      "  --num-layers: 8\n  --hidden-size: 1024\n  --num-attention-heads: 16\n"
      "  --seq-length: 1024\n  --max-position-embeddings: 1024\n  --micro-batch-size: 1\n"
      "  --global-batch-size: ${GBS}\n  --tensor-model-parallel-size: ${TP}\n"
      "  --use-flash-attn: ${FLASH}\n  --bf16: true\n  --vocab-size: 32000\n"
      "  --recompute-granularity: selective\n  --recompute-modules: \"[mlp]\"\n";
  ImportOptions options = of_size(8);
  const Answer open = answer_of("vars.yaml", text, options);
  EXPECT_TRUE(has(open.wrong,
                  "--global-batch-size: has no value, as GBS is not set; give --env "
                  "GBS=VALUE"))
      << open.wrong;
  EXPECT_TRUE(has(open.wrong, "--use-flash-attn: takes no value, but has '${FLASH}'"));
  options.environment = {"GBS=32", "TP=2", "FLASH=true"};
  expect_keys(answer_of("vars.yaml", text, options),
              {"parallel.tp=2", "training.global_batch=32", "training.recompute={modules: [mlp]}"});
}

TEST(ImportKinds, UnknownKeysOfMegatronsTestsMayHaveNoValue) {
  for (const char* value : {"", " null", " []", " {}"}) {
    const std::string text =
        "MODEL_ARGS:\n  --num-layers: 8\n  num_layer:" + std::string(value) + "\n";
    EXPECT_TRUE(has(answer_of("unknown.yaml", text, of_size(8)).wrong,
                    "num_layer: is no known flag of Megatron-LM"))
        << value;
  }
}

TEST(ImportKinds, LlamaFactoryIsTheTrainerUnderItsNames) {
  const test::TemporaryFiles files;
  files.write("models/small/config.json", small_config);
  files.write("ds/zero3.json", zero3);
  const std::string text =
      "model_name_or_path: models/small\nstage: sft\ndo_train: true\ncutoff_len: 4096\n"
      "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\n"
      "learning_rate: 1.0e-5\n";
  const std::string sharded = text + "finetuning_type: full\ndeepspeed: ds/zero3.json\n";
  // auto is what the Trainer has: 1024 squared, BF16, its batches.
  const Answer taken = answer_of(files.write("full.yaml", sharded), of_size(16));
  expect_keys(taken, {"model.layers=8", "parallel.zero=3", "training.micro_batch=2",
                      "training.global_batch=128", "training.sequence=4096",
                      "training.precision=bf16", "training.recompute=full",
                      "communication.gradient.bucket=1048576", "runtime.kernels.norm=unfused"});
  EXPECT_TRUE(has(taken.said, "is the longest sample")) << taken.said;
  expect_keys(
      answer_of(files.write("liger.yaml", sharded + "enable_liger_kernel: true\n"
                                                    "disable_gradient_checkpointing: true\n"),
                of_size(16)),
      {"runtime.kernels.norm=fused", "training.cross_entropy=fused", "training.recompute=none"});
  expect_keys(answer_of(files.write("lora.yaml", text + "finetuning_type: lora\nlora_rank: 16\n"
                                                        "lora_target: all\n"),
                        of_size(16)),
              {"training.adapters.rank=16", "training.adapters.targets=all",
               "training.adapters.products=apart", "training.adapters.frozen=bf16"});
  EXPECT_TRUE(
      has(answer_of(files.write("oft.yaml", text + "finetuning_type: oft\n"), of_size(16)).wrong,
          "which training.adapters lacks"));
  // Without sharding weights are FP32, and gradients go in buckets of 25 MiB.
  expect_keys(answer_of(files.write("ddp.yaml", text + "finetuning_type: full\n"), of_size(16)),
              {"parallel.zero=0", "training.master_weights=stored",
               "communication.gradient.bucket=6553600", "communication.gradient.precision=fp32"});
}

TEST(ImportKinds, AxolotlIsTheTrainerUnderItsNames) {
  const test::TemporaryFiles files;
  files.write("small/config.json", small_config);
  const std::string text =
      "base_model: small\nsequence_len: 8192\nsample_packing: true\nmicro_batch_size: 1\n"
      "gradient_accumulation_steps: 2\nbf16: auto\ngradient_checkpointing: true\n"
      "liger_rope: true\noptimizer: adamw_torch_fused\n";
  expect_keys(
      answer_of(files.write("fsdp.yaml", text + "fsdp: [full_shard, auto_wrap]\n"), of_size(8)),
      {"parallel.zero=3", "training.sequence=8192", "training.global_batch=16",
       "training.recompute=full", "runtime.kernels.rope=fused", "runtime.kernels.norm=unfused",
       "communication.gradient.precision=bf16"});
  EXPECT_TRUE(has(answer_of(files.write("none.yaml", text), of_size(8)).wrong,
                  "--set training.master_weights=stored"));
  expect_keys(answer_of(files.write("qlora.yaml", text + "adapter: qlora\nlora_r: 32\n"
                                                         "lora_target_modules: [q_proj, v_proj]\n"),
                        of_size(8)),
              {"training.adapters.rank=32", "training.adapters.frozen=nf4",
               "training.adapters.targets={modules: [query, value]}", "parallel.zero=0"});
}

TEST(ImportKinds, ScriptsOfTheTrainer) {
  const test::TemporaryFiles files;
  files.write("small/config.json", small_config);
  files.write("zero3.json", zero3);
  const std::string flags =
      " --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16 True "
      "--max_seq_length 2048 --gradient_checkpointing True --learning_rate 2e-5 ";
  expect_keys(answer_of(files.write("torchrun.sh",
                                    "torchrun --nproc_per_node 8 --nnodes 2 train.py "
                                    "--model_name_or_path small --deepspeed zero3.json" +
                                        flags),
                        {}),
              {"cluster.devices=16", "parallel.zero=3", "training.micro_batch=4",
               "training.global_batch=128", "training.recompute=full"});
  // accelerate says devices, sharding and precision of a script that does not.
  files.write("fsdp.yaml",
              "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"
              "mixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n");
  expect_keys(answer_of(files.write("accelerate.sh",
                                    "accelerate launch --config_file fsdp.yaml train.py "
                                    "--model_name_or_path small --max_seq_length 2048 "
                                    "--per_device_train_batch_size 4\n"),
                        {}),
              {"cluster.devices=8", "parallel.zero=2", "training.precision=bf16",
               "training.recompute=none"});
  EXPECT_TRUE(has(answer_of(files.path("fsdp.yaml"), of_size(8)).wrong, "accelerate"));
  const auto launched_by = [&](const std::string& text) {
    files.write("by.yaml", "compute_environment: LOCAL_MACHINE\nnum_processes: 8\n" + text);
    return answer_of(files.write("by.sh",
                                 "accelerate launch --config_file by.yaml train.py --bf16 "
                                 "--model_name_or_path small --max_seq_length 2048\n"),
                     {});
  };
  expect_keys(launched_by("distributed_type: FSDP\ndynamo_config: {dynamo_backend: INDUCTOR}\n"
                          "fsdp_config: {fsdp_activation_checkpointing: true}\n"),
              {"training.recompute=full", "runtime.fusion=pattern", "parallel.zero=3"});
  EXPECT_TRUE(has(launched_by("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3, "
                              "offload_optimizer_device: cpu}\n")
                      .wrong,
                  "deepspeed_config.offload_optimizer_device: asks for an update"));
  EXPECT_TRUE(has(launched_by("distributed_type: MEGATRON_LM\n").wrong, "another launcher"));
  expect_keys(answer_of(files.write("swift.sh",
                                    "NPROC_PER_NODE=8 NNODES=2 swift sft --model small "
                                    "--tuner_type full --torch_dtype bfloat16 --max_length 4096 "
                                    "--per_device_train_batch_size 1 --deepspeed zero2 "
                                    "--gradient_accumulation_steps 2 --packing true\n"),
                        {}),
              {"cluster.devices=16", "parallel.zero=2", "training.global_batch=32",
               "training.recompute=full", "communication.gradient.overlap=false"});
  expect_keys(answer_of(files.write("lora.sh",
                                    "swift sft --model small --max_length 4096 --torch_dtype "
                                    "bfloat16 --target_modules all-linear\n"),
                        of_size(8)),
              {"training.adapters.rank=8", "training.adapters.targets=all"});
  EXPECT_TRUE(has(answer_of(files.write("cli.sh", "llamafactory-cli train x.yaml\n"), {}).wrong,
                  "give that file"));
}

TEST(ImportKinds, RebuildsAsLlamaFactoryAndTheTrainerBehindItDo) {
  const test::TemporaryFiles files;
  files.write("small/config.json", small_config);
  const auto rebuilt = [&](const std::string& words) {
    return answer_of(files.write("gc.yaml",
                                 "model_name_or_path: small\nfinetuning_type: lora\n"
                                 "cutoff_len: 4096\nbf16: true\n" +
                                     words),
                     of_size(8));
  };
  expect_keys(rebuilt("gradient_checkpointing: true\n"), {"training.recompute=full"});
  expect_keys(rebuilt("gradient_checkpointing: false\n"), {"training.recompute=full"});
  const std::string off = "disable_gradient_checkpointing: true\n";
  expect_keys(rebuilt(off), {"training.recompute=none"});
  expect_keys(rebuilt(off + "gradient_checkpointing: false\n"), {"training.recompute=none"});
  expect_keys(rebuilt(off + "gradient_checkpointing: true\n"), {"training.recompute=full"});
  expect_keys(rebuilt("use_unsloth_gc: true\n"),
              {"training.recompute=full", "training.offload.activations=1"});
  // a second model beside the first
  EXPECT_TRUE(has(rebuilt("use_asft_loss: true\n").wrong, "a second model"));
}

TEST(ImportKinds, StepsThatNoKeyHasAreNamedOnce) {
  const test::TemporaryFiles files;
  const auto said = [&](const std::string& text) {
    return answer_of(files.write("other.yaml", text), of_size(8)).wrong;
  };
  const std::string factory = "model_name_or_path: a/b\ntemplate: qwen3\n";
  const std::string lora = factory + "finetuning_type: lora\nbf16: true\n";
  const std::string axolotl = "base_model: a/b\nsequence_len: 2048\nbf16: true\n";
  const std::pair<std::string, std::string> named[] = {
      {lora + "use_kt: true\nkt_config:\n  kt_backend: AMXINT8\nkt_cpu_activation: retain\n",
       "other.yaml:5:1: use_kt: keeps experts on processors of the host"},
      {lora + "tensor_model_parallel_size: 4\nsequence_parallel: true\n", "--arguments LOG"},
      {factory + "export_dir: x\nexport_size: 5\n", "exports a model"},
      {factory + "infer_backend: vllm\n", "serves a model"},
      {axolotl + "qat:\n  weight_dtype: int4\n  group_size: 256\n", "quantization-aware"},
      {axolotl + "quantization:\n  weight_dtype: int4\n", "quantizes a model"},
      {axolotl + "rl: grpo\ntrl:\n  num_generations: 4\n  beta: 0.1\n", "trains by preferences"},
      {axolotl + "diffusion:\n  eps: 0.01\n", "trains a diffusion model"}};
  for (const auto& [text, words] : named) {
    const std::string wrong = said(text);
    EXPECT_TRUE(has(wrong, words)) << text << wrong;
    EXPECT_EQ(wrong.find('\n'), std::string::npos) << wrong;
  }
}

TEST(ImportKinds, SmallStatesOfAdamAreTakenBesideAdapters) {
  const test::TemporaryFiles files;
  files.write("small/config.json", small_config);
  const std::string text =
      "base_model: small\nsequence_len: 2048\nbf16: auto\ngradient_checkpointing: offload\n"
      "optimizer: paged_adamw_8bit\n";
  expect_keys(answer_of(files.write("qlora.yaml", text + "adapter: qlora\n"), of_size(8)),
              {"training.first_moment=fp8", "training.second_moment=fp8", "training.recompute=full",
               "training.offload.activations=1"});
  const std::string shared = text + "fsdp_config:\n  sharding_strategy: FULL_SHARD\n";
  EXPECT_TRUE(
      has(answer_of(files.write("full.yaml", shared), of_size(8)).wrong, "those of the embedding"));
  const auto groups = [&](const std::string& sizes) {
    return answer_of(files.write("groups.yaml",
                                 "base_model: small\nsequence_len: 2048\nbf16: "
                                 "auto\nfsdp_config:\n  reshard_after_forward: "
                                 "true\nfsdp: [full_shard]\n" +
                                     sizes),
                     of_size(16));
  };
  expect_keys(groups("dp_shard_size: 4\ndp_replicate_size: 2\ntensor_parallel_size: 2\n"),
              {"parallel.dp_replicate=2", "parallel.tp=2", "parallel.zero=3"});
  EXPECT_TRUE(has(groups("dp_shard_size: 4\ndp_replicate_size: 2\n").wrong, "the DP of 16"));
}

TEST(ImportKinds, WeightsThatAreLoadedInBf16AreTrainedSo) {
  const test::TemporaryFiles files;
  const std::string published = small_config.substr(0, small_config.size() - 1);
  files.write("small/config.json", published + ", \"torch_dtype\": \"bfloat16\"}");
  const std::vector<std::string> half{"training.precision=bf16",
                                      "training.master_weights=none",
                                      "training.first_moment=bf16",
                                      "training.second_moment=bf16",
                                      "communication.gradient.precision=bf16",
                                      "communication.gradient.bucket=13107200"};
  // `expr` is the one command that is followed: its answer is arithmetic.
  const Answer swift =
      answer_of(files.write("swift.sh",
                            "nproc=8\nNPROC_PER_NODE=$nproc swift sft --model small "
                            "--tuner_type full --max_length 4096 "
                            "--gradient_accumulation_steps $(expr 32 / $nproc)\n"),
                {});
  expect_keys(swift, half);
  expect_keys(swift, {"training.global_batch=32", "cluster.devices=8"});
  expect_keys(answer_of(files.write("pure.yaml",
                                    "model_name_or_path: small\ncutoff_len: 4096\n"
                                    "finetuning_type: full\npure_bf16: true\n"),
                        of_size(8)),
              half);
}

/// Whether a scenario with such a model has this key: another one is said not to be known.
bool is_key_beside(const std::string& key, const std::string& model) {
  const SearchPath search = default_search_path({});
  Node root = load_document_text(
      "stepcast: 1\ncluster: {extends: clusters/ideal.yaml, devices: 8}\nmodel: {extends: models/" +
          model + ".yaml}\ntraining: {sequence: 1024, global_batch: 8, micro_batch: 1}\n",
      "key.yaml", search);
  std::vector<Diagnostic> wrong;
  apply_overrides(root, {key + "=no_such_word"}, search, wrong);
  try {
    (void)read_scenario(ScenarioDocument{root, "key.yaml", {}}, search);
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics())
      if (has(d.message, "is not a known key")) return false;
  }
  return true;
}
/// Some keys are those of a kind of attention.
bool is_key(const std::string& key) {
  return is_key_beside(key, "llama3-8b") || is_key_beside(key, "deepseek-v3");
}

TEST(ImportKinds, WhatLacksAKeyHasNoneAndWhatNamesOneHasIt) {
  std::map<std::string, bool> known;
  for (const launch::FlagTable& table : launch::flag_tables()) {
    for (const launch::Flag& flag : table.flags) {
      for (std::size_t at = 0; at < flag.key.size();) {
        const std::size_t comma = std::min(flag.key.find(", ", at), flag.key.size());
        const std::string key(flag.key.substr(at, comma - at));
        at = comma + 2;
        if (!known.contains(key)) known[key] = is_key(key);
        EXPECT_EQ(known[key], flag.treatment != launch::Treatment::lacking)
            << flag.name << " of " << table.title << " names " << key;
      }
    }
  }
  EXPECT_GT(known.size(), 100U);
}

}  // namespace
}  // namespace stepcast
