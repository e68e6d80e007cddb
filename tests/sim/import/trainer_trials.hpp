#pragma once
#include "flag_trials.hpp"

/// Files of the Trainer's forms, of FSDP2, of arguments in trees and of Python, as EachFlag tries
/// them. The files that they name stand beside them.
namespace stepcast::import_tests {

/// Name and text of what the forms below name.
inline const Keys beside{
    {"small/config.json",
     R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "vocab_size": 32000,
 "num_hidden_layers": 8, "num_attention_heads": 16, "tie_word_embeddings": false})"},
    {"routed/config.json",
     R"({"model_type": "mixtral", "hidden_size": 1024, "intermediate_size": 2816,
 "vocab_size": 32000, "num_hidden_layers": 8, "num_attention_heads": 16, "num_local_experts": 8,
 "num_experts_per_tok": 2, "tie_word_embeddings": false})"},
    {"zero2.json", R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}})"},
    {"whole.json", R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 1,
 "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}})"}};

inline std::string launched(const std::string& program, const Keys& keys) {
  std::string text = program;
  for (const auto& [name, value] : keys) text += " " + name + (value.empty() ? "" : " " + value);
  return text + "\n";
}
inline std::string trainer_script(const Keys& keys) {
  return launched("torchrun --nproc_per_node 8 --nnodes 2 train.py", keys);
}
inline std::string swift_script(const Keys& keys) {
  return launched("NPROC_PER_NODE=8 NNODES=2 swift sft", keys);
}

inline const Keys trainer_base{{"--model_name_or_path", "small"},
                               {"--per_device_train_batch_size", "2"},
                               {"--max_seq_length", "1024"},
                               {"--bf16", "True"},
                               {"--deepspeed", "zero2.json"}};
inline const Keys trainer_adapted = with(trainer_base, {{"--use_lora", "True"}});
inline const Keys no_length{{"--max_seq_length", gone}};
inline const Keys no_json{{"--deepspeed", gone}};
inline const std::vector<Trial> trainer_trials{
    {"--model_name_or_path", "routed"},
    {"--config_name", "routed"},
    {"--max_seq_length", "512"},
    {"--model_max_length", "512", no_length},
    {"--max_length", "512", no_length},
    {"--block_size", "512", no_length},
    {"--cutoff_len", "512", no_length},
    {"--max_seq_len", "512", no_length},
    {"--bf16", "True", {{"--bf16", gone}}},
    {"--fp16", "True", {{"--bf16", gone}}},
    {"--deepspeed", "zero2.json", {{"--deepspeed", gone}, {"--use_lora", "True"}}},
    {"--zero_stage", "2", {{"--deepspeed", gone}, {"--use_lora", "True"}}},
    {"--deepspeed_config", "zero2.json", {{"--deepspeed", gone}, {"--use_lora", "True"}}},
    {"--fsdp", "shard_grad_op", no_json},
    {"--attn_implementation", "eager"},
    {"--optim", "adamw_torch"},
    {"--use_peft", "True"},
    {"--use_peft_lora", "True"},
    {"--lora_enable", "True"},
    {"--finetuning_type", "lora"},
    {"--lora_target_modules", "q_proj v_proj", {}, 1},
    {"--lora_target", "q_proj,v_proj", {}, 1},
    {"--target_modules", "q_proj v_proj", {}, 1},
    {"--use_4bit_quantization", "True", {}, 1},
    {"--lora_dropout", "0.1", {}, 1},
    {"--load_in_4bit", "True", {}, 1}};

inline const Keys factory_base{{"model_name_or_path", "small"},      {"stage", "sft"},
                               {"finetuning_type", "full"},          {"cutoff_len", "1024"},
                               {"per_device_train_batch_size", "2"}, {"bf16", "true"},
                               {"deepspeed", "zero2.json"}};
inline const Keys factory_adapted = with(factory_base, {{"finetuning_type", "lora"}});
inline const std::vector<Trial> factory_trials{
    {"model_name_or_path", "routed"},
    {"bf16", "true", {{"bf16", gone}}},
    {"fp16", "true", {{"bf16", gone}}},
    {"deepspeed", "zero2.json", {{"deepspeed", gone}}},
    {"fsdp", "shard_grad_op", {{"deepspeed", gone}}},
    {"flash_attn", "disabled"},
    {"optim", "adamw_torch"},
    {"finetuning_type", "lora"},
    {"lora_target", "[q_proj, v_proj]", {}, 1},
    {"gradient_checkpointing", "true", {{"disable_gradient_checkpointing", "true"}}},
    {"pure_bf16", "true", {{"deepspeed", gone}}},
    {"quantization_bit", "4", {}, 1}};

inline const Keys axolotl_base{{"base_model", "small"},
                               {"sequence_len", "1024"},
                               {"micro_batch_size", "2"},
                               {"bf16", "true"},
                               {"deepspeed", "zero2.json"}};
inline const Keys axolotl_adapted = with(axolotl_base, {{"adapter", "lora"}});
inline const Keys axolotl_sharded =
    with(axolotl_base, {{"deepspeed", gone}, {"fsdp", "[full_shard]"}});
inline const std::vector<Trial> axolotl_trials{
    {"base_model", "routed"},
    {"bf16", "true", {{"bf16", gone}}},
    {"bfloat16", "true", {{"bf16", gone}}},
    {"fp16", "true", {{"bf16", gone}}},
    {"deepspeed", "zero2.json", {{"deepspeed", gone}}},
    {"fsdp", "[shard_grad_op]", {{"deepspeed", gone}}},
    {"fsdp_config.fsdp_sharding_strategy", "SHARD_GRAD_OP", {}, 2},
    {"fsdp_config.sharding_strategy", "SHARD_GRAD_OP", {}, 2},
    {"attn_implementation", "eager"},
    {"optimizer", "adamw_torch"},
    {"adapter", "lora"},
    {"lora_target_modules", "[q_proj, v_proj]", {}, 1},
    {"lora_target_linear", "true", {{"lora_target_modules", "[q_proj, v_proj]"}}, 1},
    {"fsdp_config.activation_checkpointing", "true", {{"gradient_checkpointing", "false"}}, 2},
    {"fsdp_config.mixed_precision_policy", "fp16", {{"bf16", gone}}, 2},
    {"lora_dropout", "0.1", {}, 1}};

inline const Keys swift_base{{"--model", "small"},
                             {"--tuner_type", "full"},
                             {"--torch_dtype", "bfloat16"},
                             {"--max_length", "1024"},
                             {"--deepspeed", "zero2"}};
inline const Keys swift_adapted = with(swift_base, {{"--tuner_type", "lora"}});
inline const Keys no_type{{"--torch_dtype", gone}};
inline const std::vector<Trial> swift_trials{{"--model", "routed"},
                                             {"--tuner_type", "lora"},
                                             {"--train_type", "full", {{"--tuner_type", gone}}},
                                             {"--target_modules", "q_proj v_proj", {}, 1},
                                             {"--lora_dropout", "0", {}, 1},
                                             {"--torch_dtype", "float16"},
                                             {"--bf16", "true", no_type},
                                             {"--fp16", "true", no_type},
                                             {"--deepspeed", "zero3"},
                                             {"--fsdp", "fsdp2", {{"--deepspeed", gone}}},
                                             {"--attn_impl", "eager"},
                                             {"--optim", "adamw_torch"},
                                             {"--quant_bits", "4", {}, 1}};

inline const Keys fsdp2_base{{"model.model_name_or_path", "small"},
                             {"data.cutoff_len", "1024"},
                             {"parallel.fsdp_size", "16"},
                             {"training.per_device_train_batch_size", "2"}};
inline const Keys fsdp2_routed =
    with(fsdp2_base, {{"model.model_name_or_path", "routed"}, {"parallel.ep_size", "2"}});
inline const std::vector<Trial> fsdp2_trials{
    {"model.model_name_or_path", "routed"},
    {"parallel.fsdp_size", "8", {{"parallel.tp_size", "2"}}},
    {"parallel.cp_type", "ring", {{"parallel.cp_size", "2"}}},
    {"parallel.ep_dispatcher", "fused", {}, 1},
    {"parallel.reduce_dtype", "bf16"}};

/// `--a-b` as the key `a_b` of a tree below `above`.
inline std::string in_tree(const std::string& above, const Keys& keys, Keys tree) {
  for (const auto& [name, value] : keys) {
    std::string key = name.substr(2);
    for (char& c : key)
      if (c == '-') c = '_';
    tree[above + "." + key] = value.empty() ? "true" : value;
  }
  return yaml(tree);
}
inline std::string flagscale_tree(const Keys& keys) {
  return in_tree("model", keys, {{"system.use_distributed_optimizer", "true"}});
}
inline std::string primus_tree(const Keys& keys) {
  return in_tree("modules.pre_trainer.overrides", keys,
                 {{"modules.pre_trainer.framework", "megatron"}});
}
inline const Keys tree_dense = with(mindspeed_dense, {{"--swiglu", ""}});
inline const Keys tree_experts = with(tree_dense, {{"--num-experts", "8"},
                                                   {"--expert-model-parallel-size", "2"},
                                                   {"--moe-router-topk", "2"},
                                                   {"--moe-grouped-gemm", ""},
                                                   {"--moe-token-dispatcher-type", "alltoall"}});
inline const std::vector<Trial> flagscale_trials{
    {"--hidden-dim-multiplier", "1.3", {{"--multiple-of", "256"}}},
    {"--moe-fb-overlap", "", {{"--pipeline-model-parallel-size", "1"}}, 1}};

inline const Keys deepspeed_script{{"--num-layers", "8"},
                                   {"--hidden-size", "1024"},
                                   {"--num-attention-heads", "16"},
                                   {"--seq-length", "1024"},
                                   {"--max-position-embeddings", "1024"},
                                   {"--micro-batch-size", "1"},
                                   {"--global-batch-size", "32"},
                                   {"--vocab-size", "32000"},
                                   {"--bf16", ""},
                                   {"--deepspeed", ""},
                                   {"--deepspeed_config", "whole.json"}};
inline const Keys deepspeed_experts =
    with(deepspeed_script, {{"--num-experts", "8"}, {"--moe-expert-parallel-size", "2"}});
inline std::string deepspeed_launch(const Keys& keys) {
  return launched("deepspeed --num_nodes 2 --num_gpus 8 pretrain_gpt.py", keys);
}
inline const std::vector<Trial> megatron_deepspeed_trials{
    {"--deepspeed-config", "whole.json", {{"--deepspeed_config", gone}}},
    {"--no-pipeline-parallel", "", {{"--pipeline-model-parallel-size", "2"}}},
    {"--checkpoint-in-cpu",
     "",
     {{"--checkpoint-activations", ""}, {"--deepspeed-activation-checkpointing", ""}}},
    {"--deepspeed-activation-checkpointing",
     "",
     {{"--checkpoint-activations", ""}, {"--checkpoint-in-cpu", ""}}},
    {"--enable-expert-tensor-parallelism", "", {{"--tensor-model-parallel-size", "2"}}, 1}};

/// Keyword arguments of `Trainer.Config`, section by section.
inline std::string titan_python(const Keys& keys) {
  std::map<std::string, std::string> sections;
  std::string flavor, model;
  for (const auto& [path, value] : keys) {
    const std::size_t dot = path.find('.');
    const std::string section = path.substr(0, dot), key = path.substr(dot + 1);
    const std::string written = value == "true" ? "True" : value == "false" ? "False" : value;
    if (path == "model.flavor")
      flavor = value;
    else if (section != "model")
      sections[section] += key + "=" + written + ", ";
  }
  std::string text = "def only() -> Trainer.Config:\n    return Trainer.Config(\n";
  text += "        model_spec=model_registry(" + flavor + "),\n";
  for (const auto& [section, fields] : sections)
    text += "        " + section + "=SectionConfig(" + fields + "),\n";
  return text + "    )\n";
}
inline const Keys python_dense{{"model.flavor", "\"8B\""},
                               {"training.local_batch_size", "4"},
                               {"training.max_context_length", "2048"},
                               {"parallelism.tensor_parallel_degree", "2"},
                               {"parallelism.pipeline_parallel_degree", "2"},
                               {"activation_checkpoint.mode", "\"full\""}};

}  // namespace stepcast::import_tests
