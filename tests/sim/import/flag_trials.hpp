#pragma once
#include <map>
#include <string>
#include <vector>

/// Files that are read as they are, and flags that count beside others: what EachFlag tries.
namespace stepcast::import_tests {

using Keys = std::map<std::string, std::string>;  ///< dotted path -> value as written

/// A tree of keys as YAML in one line, which JSON is too.
inline std::string flow(const Keys& keys, bool quotes) {
  std::map<std::string, Keys> below;
  std::string text = "{";
  const auto add = [&](const std::string& key, const std::string& value) {
    const std::string name = quotes ? "\"" + key + "\"" : key;
    text += (text.size() > 1 ? ", " : "") + name + ": " + value;
  };
  for (const auto& [path, value] : keys) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos)
      add(path, value);
    else
      below[path.substr(0, dot)][path.substr(dot + 1)] = value;
  }
  for (const auto& [key, inner] : below) add(key, flow(inner, quotes));
  return text + "}";
}

inline std::string toml(const Keys& keys) {
  std::string text;
  for (const auto& [path, value] : keys) text += path + " = " + value + "\n";
  return text;
}

inline std::string shell(const Keys& keys) {
  std::string text = "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py";
  for (const auto& [name, value] : keys) text += " " + name + (value.empty() ? "" : " " + value);
  return text + "\n";
}

/// A flag that counts beside others, or with a word of its own: there it changes the scenario.
struct Trial {
  std::string flag, value;
  Keys beside{};  ///< `gone` takes one of the base away
  std::size_t base = 0;
};
inline const std::string gone = "<gone>";

inline Keys with(Keys base, const Keys& more) {
  for (const auto& [key, value] : more) base[key] = value;
  std::erase_if(base, [](const auto& entry) { return entry.second == gone; });
  return base;
}

inline const Keys mindspeed_dense{{"--num-layers", "8"},
                                  {"--hidden-size", "1024"},
                                  {"--num-attention-heads", "16"},
                                  {"--seq-length", "1024"},
                                  {"--max-position-embeddings", "1024"},
                                  {"--micro-batch-size", "1"},
                                  {"--global-batch-size", "32"},
                                  {"--vocab-size", "32000"},
                                  {"--tensor-model-parallel-size", "2"},
                                  {"--pipeline-model-parallel-size", "2"},
                                  {"--sequence-parallel", ""},
                                  {"--bf16", ""}};
inline const Keys mindspeed_experts =
    with(mindspeed_dense, {{"--normalization", "RMSNorm"},
                           {"--position-embedding-type", "rope"},
                           {"--num-experts", "8"},
                           {"--expert-model-parallel-size", "2"},
                           {"--moe-router-topk", "2"},
                           {"--moe-grouped-gemm", ""},
                           {"--moe-intermediate-size", "512"},
                           {"--n-shared-experts", "1"},
                           {"--moe-token-dispatcher-type", "alltoall"}});

inline const Keys mindformers_dense{{"use_legacy", "false"},
                                    {"runner_config.batch_size", "1"},
                                    {"parallel.enable_parallel_optimizer", "true"},
                                    {"parallel_config.data_parallel", "4"},
                                    {"parallel_config.model_parallel", "2"},
                                    {"parallel_config.pipeline_stage", "2"},
                                    {"parallel_config.micro_batch_num", "4"},
                                    {"recompute_config.recompute", "false"},
                                    {"model.model_config.model_type", "qwen3"},
                                    {"model.model_config.seq_length", "1024"},
                                    {"model.model_config.vocab_size", "32000"},
                                    {"model.model_config.hidden_size", "1024"},
                                    {"model.model_config.num_hidden_layers", "8"},
                                    {"model.model_config.num_attention_heads", "16"},
                                    {"model.model_config.num_key_value_heads", "4"},
                                    {"model.model_config.head_dim", "64"},
                                    {"model.model_config.intermediate_size", "4096"},
                                    {"model.model_config.compute_dtype", "bfloat16"}};
inline const Keys mindformers_experts =
    with(mindformers_dense, {{"model.model_config.model_type", "qwen3_moe"},
                             {"moe_config.expert_num", "8"},
                             {"moe_config.num_experts_chosen", "2"},
                             {"moe_config.moe_intermediate_size", "512"},
                             {"moe_config.first_k_dense_replace", "1"},
                             {"moe_config.capacity_factor", "1.5"},
                             {"parallel_config.expert_parallel", "2"}});

inline const Keys torchtitan_dense{{"model.name", "\"llama3\""},
                                   {"model.flavor", "\"8B\""},
                                   {"training.local_batch_size", "4"},
                                   {"training.seq_len", "2048"},
                                   {"parallelism.tensor_parallel_degree", "2"},
                                   {"parallelism.pipeline_parallel_degree", "2"},
                                   {"activation_checkpoint.mode", "\"full\""}};
inline const Keys torchtitan_single =
    with(torchtitan_dense, {{"parallelism.pipeline_parallel_degree", "1"},
                            {"activation_checkpoint.mode", "\"selective\""},
                            {"activation_checkpoint.selective_ac_option", "\"2\""}});
inline const Keys torchtitan_experts =
    with(torchtitan_dense, {{"model.name", "\"qwen3\""},
                            {"model.flavor", "\"30B-A3B\""},
                            {"parallelism.expert_parallel_degree", "4"}});

inline const Keys nemo_dense{{"model.num_layers", "8"},
                             {"model.hidden_size", "1024"},
                             {"model.num_attention_heads", "16"},
                             {"model.encoder_seq_length", "1024"},
                             {"model.max_position_embeddings", "1024"},
                             {"model.micro_batch_size", "1"},
                             {"model.global_batch_size", "32"},
                             {"model.vocab_size", "32000"},
                             {"model.tensor_model_parallel_size", "2"},
                             {"model.pipeline_model_parallel_size", "2"},
                             {"model.sequence_parallel", "true"},
                             {"trainer.precision", "bf16"}};
inline const Keys nemo_experts = with(nemo_dense, {{"model.num_moe_experts", "8"},
                                                   {"model.moe_router_topk", "2"},
                                                   {"model.moe_token_dispatcher_type", "alltoall"},
                                                   {"model.expert_model_parallel_size", "2"}});
inline const Keys nemo_rebuilt = with(nemo_dense, {{"model.recompute_granularity", "full"},
                                                   {"model.recompute_method", "block"},
                                                   {"model.recompute_num_layers", "1"},
                                                   {"ddp.use_distributed_optimizer", "true"},
                                                   {"ddp.overlap_grad_reduce", "true"}});

inline const Keys deepspeed_base{{"train_batch_size", "32"},
                                 {"train_micro_batch_size_per_gpu", "1"},
                                 {"bf16.enabled", "true"},
                                 {"zero_optimization.stage", "2"},
                                 {"zero_optimization.overlap_comm", "true"}};
inline const Keys deepspeed_half{{"train_micro_batch_size_per_gpu", "1"}, {"fp16.enabled", "true"}};

inline std::string yaml(const Keys& keys) { return flow(keys, false) + "\n"; }
inline std::string json(const Keys& keys) { return flow(keys, true) + "\n"; }

inline const std::vector<std::string> words{"4", "true", "1", "false", "0.5", "2"};

inline const Keys latent{{"--multi-latent-attention", ""}, {"--kv-lora-rank", "64"},
                         {"--qk-head-dim", "32"},          {"--qk-pos-emb-head-dim", "16"},
                         {"--v-head-dim", "32"},           {"--position-embedding-type", "rope"},
                         {"--use-flash-attn", ""}};
inline const std::vector<Trial> mindspeed_trials{
    {"--gemm-gradient-accumulation-fusion", "", {{"--no-gradient-accumulation-fusion", ""}}},
    {"--ulysses-degree-in-cp",
     "2",
     {{"--context-parallel-size", "4"},
      {"--context-parallel-algo", "hybrid_cp_algo"},
      {"--use-flash-attn", ""}}},
    {"--use-fused-ring-attention-update",
     "",
     {{"--context-parallel-size", "2"},
      {"--context-parallel-algo", "megatron_cp_algo"},
      {"--use-flash-attn", ""}}},
    {"--add-dense-bias", "", {{"--disable-bias-linear", ""}}},
    {"--padded-base-length", "256", latent},
    {"--mla-fa-without-pad", "", latent},
    {"--use-ascend-coc", "", {{"--coc-parallel-num", "4"}}},
    {"--coc-parallel-num", "4", {{"--use-ascend-coc", ""}}},
    {"--enable-recompute-layers-per-pp-rank",
     "",
     {{"--recompute-granularity", "full"},
      {"--recompute-method", "block"},
      {"--recompute-num-layers", "1"},
      {"--num-layers-per-virtual-pipeline-stage", "2"}}}};

/// Trials of MindFormers, of fields of the model where nothing else says so.
inline Trial of_model(const std::string& field, const std::string& value, Keys beside = {},
                      std::size_t base = 0) {
  return {"model.model_config." + field, value, std::move(beside), base};
}
inline const Keys mindformers_latent{{"model.model_config.kv_lora_rank", "64"},
                                     {"model.model_config.qk_nope_head_dim", "32"},
                                     {"model.model_config.qk_rope_head_dim", "16"},
                                     {"model.model_config.v_head_dim", "32"}};
inline const Keys no_width{{"model.model_config.intermediate_size", gone}};
inline const std::vector<Trial> mindformers_trials{
    {"parallel_config.seq_split_num",
     "2",
     {{"parallel.pipeline_config.pipeline_scheduler", "seqpipe"}}},
    {"parallel_config.context_parallel_algo",
     "ulysses_cp",
     {{"parallel_config.context_parallel", "2"}}},
    {"parallel_config.ulysses_degree_in_cp",
     "2",
     {{"parallel_config.context_parallel", "4"},
      {"parallel_config.context_parallel_algo", "hybrid_cp"}}},
    {"parallel.pipeline_config.pipeline_interleave",
     "true",
     {{"model.model_config.pp_interleave_num", "2"}}},
    of_model("pp_interleave_num", "2", {{"parallel.pipeline_config.pipeline_interleave", "true"}}),
    {"context.graph_kernel_flags", "--enable_pass=matmul_assignadd_fusion"},
    {"context.jit_config.jit_level", "O1"},
    {"context.jit_level", "O1"},
    {"moe_config.use_gmm", "true", {{"use_legacy", "true"}}, 1},
    {"moe_config.group_wise_a2a", "true", {{"use_legacy", "true"}}, 1},
    {"moe_config.comp_comm_parallel_degree", "4", {{"moe_config.comp_comm_parallel", "true"}}, 1},
    {"parallel.parallel_optimizer_config.optimizer_weight_shard_size", "2"},
    {"train_dataset.data_loader.config.seq_length",
     "1024",
     {{"model.model_config.seq_length", gone}}},
    of_model("n_layer", "4", {{"model.model_config.num_hidden_layers", gone}}),
    of_model("multiple_of", "1024", no_width),
    of_model("ffn_dim_multiplier", "1.3", no_width),
    of_model("type", "GPT2Config", {{"model.model_config.model_type", gone}}),
    of_model("model_type", "gpt2"),
    of_model("q_lora_rank", "128", mindformers_latent),
    of_model("qk_nope_head_dim", "64", mindformers_latent),
    of_model("qk_rope_head_dim", "32", mindformers_latent),
    of_model("v_head_dim", "64", mindformers_latent),
    of_model("num_experts_per_tok", "3", {{"moe_config.num_experts_chosen", gone}}, 1),
    of_model("moe_intermediate_size", "256", {{"moe_config.moe_intermediate_size", gone}}, 1),
    of_model("first_k_dense_replace", "2", {{"moe_config.first_k_dense_replace", gone}}, 1),
    of_model("moe_token_dispatcher_type", "alltoall_deredundency", {}, 1),
    of_model("compute_dtype", "float16"),
    of_model("param_init_type", "bfloat16", {{"parallel_config.pipeline_stage", "1"}}),
    of_model("params_dtype", "bfloat16", {{"parallel_config.pipeline_stage", "1"}}),
    of_model("use_ring_attention", "true", {{"parallel_config.context_parallel", "2"}})};

inline const std::vector<Trial> torchtitan_trials{
    {"training.batch_size", "2", {{"training.local_batch_size", gone}}},
    {"compile.components", "[\"model\"]", {{"compile.enable", "true"}}},
    {"parallelism.context_parallel_rotate_method",
     "\"alltoall\"",
     {{"parallelism.context_parallel_degree", "2"}}},
    {"parallelism.data_parallel_replicate_degree", "2"}};

inline const Keys aware{{"optimizer.use_precision_aware_optimizer", "true"}};
inline const std::vector<Trial> nemo_trials{
    {"trainer.precision", "16"},
    {"mixed_precision", "fp16_mixed", {{"trainer.precision", gone}}},
    {"model.bf16", "true", {{"trainer.precision", gone}}},
    {"model.normalization", "rmsnorm"},
    {"model.add_qkv_bias", "true", {{"model.bias", "false"}}},
    {"model.qkv_bias", "true", {{"model.bias", "false"}}},
    {"model.activation", "fast-swiglu"},
    {"model.activations_checkpoint_method",
     "uniform",
     {{"model.activations_checkpoint_granularity", "full"}}},
    {"model.activations_checkpoint_num_layers",
     "2",
     {{"model.activations_checkpoint_granularity", "full"},
      {"model.activations_checkpoint_method", "block"}}},
    {"model.recompute_modules", "[mlp]", {{"model.recompute_granularity", "selective"}}},
    {"model.optim.name", "mcore_distributed_optim"},
    {"model.optim.grad_sync_dtype", "fp32"},
    {"ddp.num_distributed_optimizer_instances", "2", {{"ddp.use_distributed_optimizer", "true"}}},
    {"optimizer.exp_avg_dtype", "torch.bfloat16", aware},
    {"optimizer.exp_avg_sq_dtype", "fp8", aware},
    {"optimizer.main_params_dtype", "torch.float16", aware}};

inline const Keys megatron_dense = with(mindspeed_dense, {{"--swiglu", ""}});
inline const Keys megatron_experts =
    with(megatron_dense, {{"--num-experts", "8"},
                          {"--expert-model-parallel-size", "2"},
                          {"--moe-router-topk", "2"},
                          {"--moe-token-dispatcher-type", "alltoall"},
                          {"--moe-shared-expert-intermediate-size", "512"}});
inline const Keys rebuilt_blocks{{"--recompute-granularity", "full"},
                                 {"--recompute-method", "block"},
                                 {"--recompute-num-layers", "1"}};
inline const Keys chunked{{"--num-layers-per-virtual-pipeline-stage", "2"}};
inline const Keys linear_dims{{"--disable-bias-linear", ""},     {"--linear-attention-freq", "4"},
                              {"--linear-conv-kernel-dim", "4"}, {"--linear-key-head-dim", "64"},
                              {"--linear-value-head-dim", "64"}, {"--linear-num-key-heads", "8"},
                              {"--linear-num-value-heads", "16"}};
inline const Keys linear_layers =
    with(linear_dims, {{"--experimental-attention-variant", "gated_delta_net"}});
inline const Keys latent_dims{{"--multi-latent-attention", ""}, {"--q-lora-rank", "128"},
                              {"--disable-bias-linear", ""},    {"--dsa-indexer-n-heads", "4"},
                              {"--dsa-indexer-head-dim", "64"}, {"--dsa-indexer-topk", "256"}};
inline const Keys sparse_layers = with(latent_dims, {{"--experimental-attention-variant", "dsa"}});
inline const std::vector<Trial> megatron_trials{
    {"--experimental-attention-variant", "gated_delta_net", linear_dims},
    {"--experimental-attention-variant", "dsa", latent_dims},
    {"--linear-attention-freq", "2", linear_layers},
    {"--linear-conv-kernel-dim", "2", linear_layers},
    {"--linear-key-head-dim", "32", linear_layers},
    {"--linear-value-head-dim", "32", linear_layers},
    {"--linear-num-key-heads", "4", linear_layers},
    {"--linear-num-value-heads", "32", linear_layers},
    {"--dsa-indexer-n-heads", "8", sparse_layers},
    {"--dsa-indexer-head-dim", "128", sparse_layers},
    {"--dsa-indexer-topk", "512", sparse_layers},
    {"--attention-output-gate", ""},
    {"--moe-shared-expert-gate", "", {}, 1},
    {"--encoder-num-layers", "16", {{"--num-layers", gone}}},
    {"--encoder-seq-length", "512", {{"--seq-length", gone}}},
    {"--swiglu", "", {{"--swiglu", gone}}},
    {"--sequence-parallel", "", {{"--sequence-parallel", gone}}},
    {"--make-vocab-size-divisible-by", "4096"},
    {"--normalization", "RMSNorm"},
    {"--position-embedding-type", "rope"},
    {"--add-qkv-bias", "", {{"--disable-bias-linear", ""}}},
    {"--bf16", "", {{"--bf16", gone}}},
    {"--fp16", "", {{"--bf16", gone}}},
    {"--accumulate-allreduce-grads-in-fp32", "", {{"--bf16", gone}, {"--fp16", ""}}},
    {"--main-grads-dtype", "bf16"},
    {"--fp8-format", "hybrid"},
    {"--hidden-dropout", "0.0"},
    {"--attention-backend", "unfused"},
    {"--transformer-impl", "local"},
    {"--use-flash-attn", "", {{"--transformer-impl", "local"}}},
    {"--no-rope-fusion", "", {{"--position-embedding-type", "rope"}}},
    {"--no-bias-swiglu-fusion", ""},
    {"--no-bias-gelu-fusion", "", {{"--swiglu", gone}}},
    {"--no-overlap-p2p-communication", "", chunked},
    {"--microbatch-group-size-per-virtual-pipeline-stage", "4", chunked},
    {"--cp-comm-type", "a2a", {{"--context-parallel-size", "2"}}},
    {"--hierarchical-context-parallel-sizes",
     "2 2",
     {{"--context-parallel-size", "4"}, {"--cp-comm-type", "a2a+p2p"}}},
    {"--recompute-granularity", "selective"},
    {"--recompute-num-layers", "2", rebuilt_blocks},
    {"--moe-router-group-topk", "2", {{"--moe-router-num-groups", "4"}}, 1},
    {"--num-distributed-optimizer-instances", "2", {{"--use-distributed-optimizer", ""}}}};

}  // namespace stepcast::import_tests
