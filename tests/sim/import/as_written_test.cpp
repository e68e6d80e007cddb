#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "stepcast/base/standard_input.hpp"
#include "subjects.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// Habits of launch files in public repositories: each is one that many files have.
namespace stepcast {
namespace {

using namespace import_tests;
using test::has;

struct Reading {
  std::string keys, said, wrong;
};

Reading reading_at(const std::string& path, std::vector<std::string> sets,
                   std::vector<std::string> arguments = {}) {
  ImportOptions options;
  options.cluster = "dgx-h100";
  options.devices = 64;
  options.overrides = std::move(sets);
  options.arguments = std::move(arguments);
  Reading reading;
  try {
    const SearchPath search = default_search_path({});
    const ImportedScenario imported = import_launch(path, options, search);
    reading.keys = "\n" + read_scenario(imported.document, search).content + "\n";
    for (const std::string& warning : imported.warnings) reading.said += warning + "\n";
  } catch (const InputError& error) {
    reading.wrong = error.what();
  }
  return reading;
}

Reading reading_of(const std::string& name, const std::string& text,
                   std::vector<std::string> sets = {}, std::vector<std::string> arguments = {}) {
  static const test::TemporaryFiles files;
  return reading_at(files.write(name, text), std::move(sets), std::move(arguments));
}

void expect_read(const Reading& reading, const std::vector<std::string>& keys) {
  EXPECT_EQ(reading.wrong, "");
  for (const std::string& key : keys)
    EXPECT_TRUE(has(reading.keys, "\n" + key + "\n")) << key << reading.keys;
}

void expect_one_reason(const Reading& reading, const std::string& reason) {
  EXPECT_TRUE(has(reading.wrong, reason)) << reading.wrong;
  EXPECT_EQ(reading.wrong.find('\n'), std::string::npos) << reading.wrong;
}

const std::string sizes =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
    "--max-position-embeddings 1024 --vocab-size 32000 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 ";

TEST(AsWritten, ACommandThatIsPrintedIsNoSecondLaunch) {
  expect_read(
      reading_of("echo.sh", "CMD=\"torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py " +
                                sizes + "\"\necho ${CMD}\neval ${CMD}\n"),
      {"model.layers=8", "training.global_batch=64"});
}

TEST(AsWritten, NamesOfOlderMegatron) {
  const Reading old = reading_of(
      "old.slurm",
      "srun bash -c 'python -m torch.distributed.launch pretrain_gpt.py " + sizes +
          "--model-parallel-size 2 --checkpoint-activations --data-impl mmap --DDP-impl local'\n");
  expect_read(old, {"parallel.tp=2", "training.recompute=full"});
  const Reading bloom =
      reading_of("bloom.sh", "python pretrain_gpt.py " + sizes +
                                 "--position-embedding-type alibi --pad-vocab-size-to 250880 "
                                 "--embed-layernorm --kill-switch-path /x\n");
  expect_read(bloom, {"model.position=none", "model.vocabulary=250880"});
  EXPECT_TRUE(has(bloom.said, "--embed-layernorm: is not modelled")) << bloom.said;
  EXPECT_TRUE(has(bloom.said, "--position-embedding-type: is not modelled")) << bloom.said;
}

TEST(AsWritten, MissingArgumentsOfAScriptAreOneReason) {
  const std::string text = "TP=$1\nPP=$2\nMBS=$3\ntorchrun pretrain_gpt.py " + sizes +
                           "--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP "
                           "--micro-batch-size $MBS\n";
  expect_one_reason(reading_of("arguments.sh", text),
                    "takes arguments, which are not given; not set here: $1 (line 1)");
  expect_read(reading_of("given.sh", text, {}, {"4", "2", "1"}), {"parallel.tp=4"});
}

TEST(AsWritten, APlaceholderIsNamed) {
  EXPECT_TRUE(
      has(reading_of("placeholder.sh", "DATA=<path to data> (e.g. /x)\npython t.py --a 1\n").wrong,
          "replace the placeholder"));
}

TEST(AsWritten, DataIsPreparedBesideATraining) {
  const std::string prepare =
      "python process_data.py --a 1 --b 2 --c 3 --d 4 --e 5 --f 6 --g 7 --h 8\n";
  expect_read(reading_of("both.sh", prepare + "python pretrain_gpt.py " + sizes + "\n"),
              {"model.layers=8"});
  expect_read(reading_of("train_and_eval.sh", "python train_and_eval.py " + sizes + "\n"),
              {"model.layers=8"});
}

TEST(AsWritten, ProgramsThatTrainNoDecoderAreNamed) {
  const std::pair<std::string, std::string> programs[] = {
      {"python pretrain_bert.py " + sizes, "trains BERT"},
      {"python train.py " + sizes + "--vocab-file /data/vocab.txt", "trains BERT"},
      {"python pretrain_t5.py " + sizes, "an encoder and a decoder"},
      {"python train.py " + sizes + "--decoder-seq-length 128", "an encoder and a decoder"},
      {"python tasks/evaluate_lm.py " + sizes, "evaluates a model"},
      {"python tools/hf2mcore_qwen.py " + sizes, "converts a checkpoint"},
      {"python3 -m verl.trainer.main_ppo data.batch=4 actor.lr=1 reward.path=fn.py",
       "launches verl.trainer.main_ppo with 3 words"},
      {"deepspeed --module $(cat commands) --a 1", "launches a program whose name is not known"},
      {"python3 -m openrlhf.cli.train_ppo --reward.file /x/fn.py --a 1 --b 2 --c 3",
       "launches openrlhf.cli.train_ppo,"}};
  for (const auto& [text, reason] : programs) {
    const Reading reading = reading_of("other.sh", text + "\n");
    EXPECT_TRUE(has(reading.wrong, reason)) << text << "\n" << reading.wrong;
  }
  // A GPT may have the words of BERT, and sizes of an encoder that is not there.
  expect_read(reading_of("gpt.sh", "python pretrain_gpt.py " + sizes +
                                       "--vocab-file /data/vocab.txt "
                                       "--encoder-tensor-model-parallel-size 0\n"),
              {"model.layers=8"});
}

const std::string nemo =
    "trainer: {num_nodes: 8, devices: 8, precision: bf16, max_epochs: -1}\n"
    "model:\n  mcore_gpt: true\n  micro_batch_size: 4\n  global_batch_size: 256\n"
    "  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 1\n"
    "  encoder_seq_length: 2048\n  max_position_embeddings: ${.encoder_seq_length}\n"
    "  num_layers: 44\n  hidden_size: 6144\n  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n"
    "  num_attention_heads: 48\n  precision: ${trainer.precision}\n  fsdp: false\n"
    "  fsdp_sharding_strategy: full\n  sharp: false\n";

TEST(AsWritten, InterpolationsOfNeMo) {
  expect_read(reading_of("nemo.yaml", nemo, {"model.vocabulary=51200"}),
              {"model.ffn.hidden=24576", "model.position=learned(2048)", "parallel.tp=4",
               "training.precision=bf16"});
  expect_read(reading_of("below.yaml",
                         "model: {num_layers: 2, hidden_size: 1024, ffn_hidden_size: "
                         "'${divide_ceil:8190,${divide_floor:9,${.num_layers}}}', "
                         "num_attention_heads: 16, encoder_seq_length: 128, micro_batch_size: 1, "
                         "global_batch_size: 64, tensor_model_parallel_size: "
                         "'${training.model.num_layers}'}\ntrainer: {precision: bf16}\n",
                         {"model.vocabulary=51200"}),
              {"model.ffn.hidden=2048", "parallel.tp=2"});
  // What is not followed stays and is named.
  EXPECT_TRUE(has(
      reading_of("loop.yaml", nemo + "  kv_channels: ${.kv_channels}\n", {"model.vocabulary=51200"})
          .wrong,
      "model.kv_channels: is '${.kv_channels}'"));
}

TEST(AsWritten, ConfigurationsOfNeMoThatTrainNoDecoder) {
  expect_one_reason(reading_of("bert.yaml", nemo + "  bert_binary_head: false\n"), "trains BERT");
  expect_one_reason(reading_of("t5.yaml", nemo + "  encoder: {num_layers: 4}\n"),
                    "an encoder and a decoder");
  expect_one_reason(reading_of("neva.yaml", nemo + "  mm_cfg: {llm: {freeze: true}}\n"), "images");
  expect_one_reason(reading_of("text.yaml", nemo + "inference: {greedy: true}\n"),
                    "generates text");
  expect_one_reason(
      reading_of("sft.yaml",
                 "model: {restore_from_path: x.nemo, micro_batch_size: 1, global_batch_size: 8, "
                 "tensor_model_parallel_size: 2}\n"),
      "names a checkpoint, which holds the sizes");
}

TEST(AsWritten, ConfigurationsOfMindFormers) {
  const std::string yaml =
      "run_mode: 'MODE'\nuse_legacy: true\nrunner_config: {batch_size: 1}\n"
      "lr_schedule: {total_steps: -1}\neval_epoch_interval: -1\n"
      "parallel_config: {data_parallel: 8, model_parallel: 8, pipeline_stage: 1}\n"
      "recompute_config: {recompute: false, select_comm_recompute: {'.*.norm': true}}\n"
      "model:\n  model_config:\n    type: ChatGLM2Config\n    seq_length: 4096\n"
      "    num_layers: 40\n    hidden_size: 4096\n    num_attention_heads: 32\n"
      "    kv_channels: 128\n    ffn_hidden_size: 13696\n    padded_vocab_size: 151552\n"
      "    multi_query_attention: true\n    multi_query_group_num: 2\n    add_qkv_bias: true\n"
      "    ignore_token_id: -100\n    hidden_dropout_prob: 0.\n    emb_dropout_prob: 0.\n";
  std::string train = yaml, predict = yaml;
  train.replace(train.find("MODE"), 4, "finetune");
  predict.replace(predict.find("MODE"), 4, "predict");
  expect_read(reading_of("glm.yaml", train),
              {"model.attention.kv_heads=2", "model.attention.head_dim=128",
               "model.ffn.hidden=13696", "model.vocabulary=151552", "model.bias=qkv"});
  expect_one_reason(reading_of("predict.yaml", predict), "run_mode: is predict");
  const auto rebuilt = [&](const std::string& selected) {
    std::string text = train;
    const std::string off = "recompute: false";
    text.replace(text.find(off), off.size(), off + ", select_recompute: " + selected);
    return reading_of("rebuilt.yaml", text);
  };
  for (const char* all :
       {"true", "{'feed_forward\\.mul': true, 'feed_forward\\.w2\\.reshape': true}"})
    EXPECT_TRUE(has(rebuilt(all).keys, "mlp_act")) << all << rebuilt(all).wrong;
  expect_one_reason(rebuilt("[10, 8]"), "rebuilds operators of some layers");
  expect_one_reason(rebuilt("{'attention\\.mul': true}"), "rebuilds operators of some layers");
}

TEST(AsWritten, ConfigurationsOfTrl) {
  const std::string yaml =
      "model_name_or_path: org/model\ntorch_dtype: bfloat16\nattn_implementation: "
      "flash_attention_2\nbf16: true\ngradient_accumulation_steps: 2\n"
      "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n"
      "max_seq_length: 2048\nmax_steps: -1\nper_device_train_batch_size: 4\noutput_dir: x\n"
      "dataset_mixture:\n  datasets:\n    - id: a\n  seed: 0\nreport_to:\n- wandb\n";
  expect_read(reading_of("sft.yaml", yaml,
                         {"model.extends=models/llama3-8b.yaml", "training.master_weights=none"}),
              {"training.sequence=2048", "training.micro_batch=4", "training.global_batch=512",
               "training.recompute=full"});
  expect_one_reason(reading_of("dpo.yaml", yaml + "beta: 0.01\n"), "trains by preferences");
}

TEST(AsWritten, OtherTreesAreNamed) {
  const std::pair<std::string, std::string> trees[] = {
      {"actor_rollout_ref:\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n", "verl"},
      {"recipe:\n  _target_: nemo_automodel.recipes.llm.X\n", "NeMo Automodel"},
      {"base_emb_dim: 4096\nbase_num_query_heads: 32\n", "MaxText"},
      {"tokens:\n  batch_accumulation_per_replica: 1\n  micro_batch_size: 2\n", "nanotron"},
      {"model:\n  d_model: 4096\n  activation_type: swiglu\ndevice_train_microbatch_size: 2\n",
       "OLMo"},
      {"model:\n  type: llama\n  hidden_dim: 4096\n  num_heads: 32\n", "levanter"}};
  for (const auto& [text, name] : trees)
    expect_one_reason(reading_of("other.yaml", text), "is a configuration of " + name + ",");
}

TEST(AsWritten, PartsOfPrimusAreNoTraining) {
  expect_one_reason(reading_of("part.yaml", "extends:\n  - llama3_base.yaml\nnum_layers: 32\n"),
                    "give the experiment that names it");
}

TEST(AsWritten, CommandsOfSwiftThatTrainNothingAreNamed) {
  const std::pair<std::string, std::string> commands[] = {{"infer", "generates text"},
                                                          {"deploy", "serves a model"},
                                                          {"eval", "evaluates a model"},
                                                          {"export", "exports"},
                                                          {"rlhf", "trains by preferences"}};
  for (const auto& [command, what] : commands)
    expect_one_reason(reading_of("run.sh", "NPROC_PER_NODE=2 \\\nswift " + command +
                                               " --model org/model --max_length 2048\n"),
                      what);
}

TEST(AsWritten, ACommentEndsTheCommandBeforeIt) {
  expect_one_reason(
      reading_of("cut.sh", "deepspeed train.py \\\n  # the model\n  --bf16 \\\n  --x 1\n"),
      "launches nothing (the comment in line 2 ends the command before it)");
}

const std::string small_model =
    R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "vocab_size": 32000,
 "num_hidden_layers": 8, "num_attention_heads": 16, "tie_word_embeddings": false})";

TEST(AsWritten, DeepSpeedChatMakesItsJsonItself) {
  const test::TemporaryFiles files;
  const std::string model = "model.hf_config=" + files.write("config.json", small_model);
  const std::string flags =
      "deepspeed main.py --model_name_or_path org/model --data_split 2,4,4 --max_seq_len 512 "
      "--per_device_train_batch_size 8 --deepspeed --zero_stage 2";
  const auto read = [&](const std::string& more) {
    return reading_of("chat.sh", flags + more + "\n", {model});
  };
  expect_read(read(""), {"parallel.zero=2", "training.precision=fp16", "training.micro_batch=8",
                         "training.global_batch=512", "communication.gradient.overlap=true"});
  expect_read(read(" --dtype bf16"), {"training.precision=bf16"});
  expect_one_reason(read(" --offload"), "training.offload.optimizer");
  expect_one_reason(read(" --lora_dim 128 --only_optimize_lora"), "--lora_dim");
  expect_one_reason(read(" --num_padding_at_beginning 1"), "model of rewards");
}

TEST(AsWritten, FilesStandBelowTheRootThatScriptsAreLaunchedFrom) {
  const test::TemporaryFiles files;
  const std::string model = "model.hf_config=" + files.write("config.json", small_model);
  files.write("examples/deepspeed/z3.json",
              R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}})");
  expect_read(reading_at(files.write("examples/train/full.yaml",
                                     "model_name_or_path: org/model\ntemplate: qwen3\n"
                                     "finetuning_type: full\nbf16: true\n"
                                     "deepspeed: examples/deepspeed/z3.json\n"),
                         {model}),
              {"parallel.zero=3"});
}

/// The same text pasted: standard input, whose name says nothing.
Reading pasted_reading(const std::string& text, std::vector<std::string> sets) {
  std::istringstream input(text);
  forget_standard_input();
  std::streambuf* before = std::cin.rdbuf(input.rdbuf());
  Reading reading = reading_at("-", std::move(sets));
  std::cin.rdbuf(before);
  forget_standard_input();
  return reading;
}

/// Line by line, without what names the file.
std::string without_name(const std::string& text, const std::string& path) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("name="))
      all += (line.starts_with(path) ? line.substr(path.size()) : line) + "\n";
  return all;
}

TEST(AsWritten, PastedTextsAreReadAsTheirFiles) {
  const test::TemporaryFiles files;
  std::vector<std::string> paths;
  for (const char* name :
       {"mlm_gpt3_175b.sh", "mlm_gpt3_15b.yaml", "msl_qwen3_32b.sh", "mf_mixtral_8x7b.yaml",
        "tt_llama3_8b.toml", "nemo_llama2_70b.yaml", "bridge_run_config.yaml"})
    paths.push_back(data_path(name));
  const std::pair<const char*, std::string> written[] = {
      {"fs.yaml", "system:\n  tensor_model_parallel_size: 4\nmodel:\n  num_layers: 8\n"},
      {"factory.yaml", "model_name_or_path: x\ntemplate: a\nbf16: true\n"},
      {"axolotl.yaml", "base_model: x\nsequence_len: 512\nbf16: true\n"},
      {"sft.yaml", "model_name_or_path: x\nbf16: true\nper_device_train_batch_size: 2\n"},
      {"swift.sh", "swift sft --model x --max_length 512\n"},
      {"ds.json", R"({"train_batch_size": 64, "bf16": {"enabled": true}})"}};
  for (const auto& [name, text] : written) paths.push_back(files.write(name, text));
  for (const std::string& path : paths) {
    const std::vector<std::string> sets{"model.vocabulary=32000"};
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const Reading read = reading_at(path, sets), pasted = pasted_reading(text.str(), sets);
    EXPECT_EQ(without_name(pasted.wrong, "-"), without_name(read.wrong, path)) << path;
    EXPECT_EQ(without_name(pasted.keys, "-"), without_name(read.keys, path)) << path;
  }
}

TEST(AsWritten, BatchFilesOfSlurmAreLaunchFiles) {
  for (const char* name : {"train.slurm", "train.sbatch", "train.sh"})
    EXPECT_TRUE(is_launch_file(name, default_search_path({}))) << name;
}

}  // namespace
}  // namespace stepcast
