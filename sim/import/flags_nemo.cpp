#include "flags.hpp"

// NeMo Framework Launcher and Megatron-Bridge (run_config.yaml): Megatron's flags under other
// names.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag nemo_table[] = {
    {"trainer.num_nodes", one, taken, "cluster.devices", "x trainer.devices"},
    {"trainer.devices", one, taken, "cluster.devices", "x trainer.num_nodes"},
    {"trainer.precision", one, taken, "training.precision", "bf16 as --bf16, 16 as --fp16"},
    {"model.tensor_model_parallel_size", one, taken, "parallel.tp", "--tensor-model-parallel-size"},
    {"model.pipeline_model_parallel_size", one, taken, "parallel.pp",
     "--pipeline-model-parallel-size"},
    {"model.virtual_pipeline_model_parallel_size", one, taken, "parallel.vpp",
     "--num-virtual-stages-per-pipeline-rank"},
    {"model.context_parallel_size", one, taken, "parallel.cp", "--context-parallel-size"},
    {"model.expert_model_parallel_size", one, taken, "parallel.ep", "--expert-model-parallel-size"},
    {"model.expert_tensor_parallel_size", one, taken, "parallel.etp",
     "--expert-tensor-parallel-size"},
    {"model.sequence_parallel", one, taken, "parallel.sequence_parallel", "--sequence-parallel"},
    {"model.encoder_seq_length", one, taken, "training.sequence", "--seq-length"},
    {"model.seq_length", one, taken, "training.sequence", "--seq-length"},
    {"model.micro_batch_size", one, taken, "training.micro_batch", "--micro-batch-size"},
    {"model.global_batch_size", one, taken, "training.global_batch", "--global-batch-size"},
    {"train.micro_batch_size", one, taken, "training.micro_batch", "--micro-batch-size"},
    {"train.global_batch_size", one, taken, "training.global_batch", "--global-batch-size"},
    {"model.num_layers", one, taken, "model.layers", "--num-layers"},
    {"model.hidden_size", one, taken, "model.hidden", "--hidden-size"},
    {"model.ffn_hidden_size", one, taken, "model.ffn.hidden", "--ffn-hidden-size"},
    {"model.num_attention_heads", one, taken, "model.attention.heads", "--num-attention-heads"},
    {"model.num_query_groups", one, taken, "model.attention.kv_heads",
     "--group-query-attention --num-query-groups"},
    {"model.kv_channels", one, taken, "model.attention.head_dim", "--kv-channels"},
    {"model.qk_layernorm", one, taken, "model.qk_norm", "--qk-layernorm"},
    {"model.normalization", one, taken, "model.norm", "--normalization"},
    {"model.bias", one, taken, "model.bias", "false: --disable-bias-linear"},
    {"model.add_bias_linear", one, taken, "model.bias", "false: --disable-bias-linear"},
    {"model.add_qkv_bias", one, taken, "model.bias", "--add-qkv-bias"},
    {"model.activation", one, taken, "model.ffn.kind", "swiglu and fast-swiglu: --swiglu"},
    {"model.gated_linear_unit", one, taken, "model.ffn.kind", "--swiglu"},
    {"model.share_embeddings_and_output_weights", one, taken, "model.tied_embeddings",
     "false: --untie-embeddings-and-output-weights"},
    {"model.position_embedding_type", one, taken, "model.position", "--position-embedding-type"},
    {"model.max_position_embeddings", one, taken, "model.position", "--max-position-embeddings"},
    {"model.vocab_size", one, taken, "model.vocabulary",
     "--padded-vocab-size, as should_pad_vocab is off unless given"},
    {"model.make_vocab_size_divisible_by", one, taken, "model.vocabulary",
     "--make-vocab-size-divisible-by"},
    {"model.hidden_dropout", one, taken, "training.dropout", "--hidden-dropout"},
    {"model.num_moe_experts", one, taken, "model.moe.experts", "--num-experts"},
    {"model.moe_router_topk", one, taken, "model.moe.top_k", "--moe-router-topk"},
    {"model.moe_ffn_hidden_size", one, taken, "model.moe.expert_hidden", "--moe-ffn-hidden-size"},
    {"model.moe_grouped_gemm", one, taken, "moe.experts", "--moe-grouped-gemm"},
    {"model.moe_permute_fusion", one, taken, "moe.permutation", "--moe-permute-fusion"},
    {"model.moe_token_dispatcher_type", one, taken, "moe.dispatch", "--moe-token-dispatcher-type"},
    {"model.moe_shared_expert_intermediate_size", one, taken, "model.moe.shared_hidden",
     "--moe-shared-expert-intermediate-size"},
    {"model.moe_shared_expert_overlap", one, taken, "moe.overlap", "--moe-shared-expert-overlap"},
    {"model.overlap_moe_expert_parallel_comm", one, taken, "moe.overlap",
     "--overlap-moe-expert-parallel-comm"},
    {"model.moe_layer_freq", any, taken, "model.moe.first_dense", "--moe-layer-freq"},
    {"model.activations_checkpoint_granularity", one, taken, "training.recompute",
     "--recompute-granularity"},
    {"model.activations_checkpoint_method", one, taken, "training.recompute", "--recompute-method"},
    {"model.activations_checkpoint_num_layers", one, taken, "training.recompute",
     "--recompute-num-layers"},
    {"model.recompute_granularity", one, taken, "training.recompute", "--recompute-granularity"},
    {"model.recompute_method", one, taken, "training.recompute", "--recompute-method"},
    {"model.recompute_num_layers", one, taken, "training.recompute", "--recompute-num-layers"},
    {"model.recompute_modules", any, taken, "training.recompute", "--recompute-modules"},
    {"model.num_layers_in_first_pipeline_stage", one, taken, "parallel.layers_per_chunk",
     "--decoder-first-pipeline-num-layers"},
    {"model.num_layers_in_last_pipeline_stage", one, taken, "parallel.layers_per_chunk",
     "--decoder-last-pipeline-num-layers"},
    {"model.account_for_embedding_in_pipeline_split", one, taken, "parallel.layers_per_chunk",
     "--account-for-embedding-in-pipeline-split"},
    {"model.account_for_loss_in_pipeline_split", one, taken, "parallel.layers_per_chunk",
     "--account-for-loss-in-pipeline-split"},
    {"model.pipeline_model_parallel_layout", one, taken, "parallel.layers_per_chunk",
     "--pipeline-model-parallel-layout"},
    {"model.ub_tp_comm_overlap", one, taken, "communication.tensor.overlap", "--tp-comm-overlap"},
    {"comm_overlap.tp_comm_overlap", one, taken, "communication.tensor.overlap",
     "--tp-comm-overlap"},
    {"model.cross_entropy_loss_fusion", one, taken, "training.cross_entropy",
     "--cross-entropy-loss-fusion"},
    {"model.gradient_accumulation_fusion", one, taken, "communication.gradient.accumulation",
     "false: --no-gradient-accumulation-fusion"},
    {"model.fp8", one, taken, "training.precision", "--fp8-format"},
    {"model.fp8_recipe", one, taken, "training.fp8_recipe", "--fp8-recipe"},
    {"model.moe_router_padding_for_quantization", one, taken, "moe.row_padding",
     "--moe-router-padding-for-quantization"},
    {"model.moe_router_padding_for_fp8", one, taken, "moe.row_padding",
     "--moe-router-padding-for-fp8"},
    {"model.optim.name", one, taken, "parallel.zero",
     "mcore_distributed_optim and distributed_fused_adam: --use-distributed-optimizer"},
    {"model.optim.overlap_grad_sync", one, taken, "communication.gradient.overlap",
     "--overlap-grad-reduce"},
    {"model.optim.overlap_param_sync", one, taken, "communication.parameter.overlap",
     "--overlap-param-gather"},
    {"model.optim.grad_sync_dtype", one, taken, "communication.gradient.precision",
     "bf16: --grad-reduce-in-bf16"},
    {"model.optim.bucket_cap_mb", one, unmodelled, "communication.gradient.bucket",
     "a size in MB, whose elements depend on the type of gradients"},
    {"ddp.use_distributed_optimizer", one, taken, "parallel.zero", "--use-distributed-optimizer"},
    {"ddp.overlap_grad_reduce", one, taken, "communication.gradient.overlap",
     "--overlap-grad-reduce"},
    {"ddp.overlap_param_gather", one, taken, "communication.parameter.overlap",
     "--overlap-param-gather"},
    {"ddp.grad_reduce_in_fp32", one, taken, "communication.gradient.precision",
     "false: --grad-reduce-in-bf16"},
    {"ddp.bucket_size", one, taken, "communication.gradient.bucket", "--ddp-bucket-size"},
    {"mixed_precision", one, taken, "training.precision, training.fp8_recipe",
     "bf16_mixed, fp16_mixed; with_fp8 and fp8_delayed_scaling delayed, fp8_current_scaling "
     "tensorwise, fp8_subchannel_scaling blockwise, with_mxfp8 mxfp8"},
    {"model.bf16", one, taken, "training.precision", "--bf16"},
    {"model.fp16", one, taken, "training.precision", "--fp16"},
    {"model.multi_latent_attention", one, taken, "model.attention.kind",
     "--multi-latent-attention"},
    {"model.q_lora_rank", one, taken, "model.attention.q_lora_rank", "--q-lora-rank"},
    {"model.kv_lora_rank", one, taken, "model.attention.kv_lora_rank", "--kv-lora-rank"},
    {"model.qk_head_dim", one, taken, "model.attention.nope_dim", "--qk-head-dim"},
    {"model.qk_pos_emb_head_dim", one, taken, "model.attention.rope_dim", "--qk-pos-emb-head-dim"},
    {"model.v_head_dim", one, taken, "model.attention.v_dim", "--v-head-dim"},
    {"model.mtp_num_layers", one, taken, "model.mtp_layers", "--mtp-num-layers"},
    {"model.window_size", any, taken, "model.attention.window", "--window-size"},
    {"model.window_attn_skip_freq", any, taken, "model.attention.full_every",
     "--window-attn-skip-freq"},
    {"model.hybrid_override_pattern", one, refused, "model.attention.kind", "Mamba layers"},
    {"model.hybrid_layer_pattern", one, refused, "model.attention.kind", "Mamba layers"},
    {"model.cuda_graph_impl", one, taken, "runtime.graphs", "--cuda-graph-impl"},
    {"model.external_cuda_graph", one, taken, "runtime.graphs", "--external-cuda-graph"},
    {"model.cuda_graph_scope", any, taken, "runtime.graphs", "--cuda-graph-scope"},
    {"model.cuda_graph_modules", any, taken, "runtime.graphs", "--cuda-graph-modules"},
    {"model.enable_cuda_graph", one, refused, "runtime.graphs",
     "graphs that Megatron-LM captures itself (cuda_graph_impl local)", false, "false"},
    {"ddp.use_megatron_fsdp", one, refused, "parallel.zero",
     "give the level with --set parallel.zero", false, "false"},
    {"ddp.num_distributed_optimizer_instances", one, taken, "parallel.dp_replicate",
     "--num-distributed-optimizer-instances"},
    {"ddp.fp8_param_gather", one, taken, "communication.parameter.precision", "--fp8-param-gather"},
    {"model.fp8_params", one, taken, "communication.parameter.precision", "--fp8-param-gather"},
    {"optimizer.use_precision_aware_optimizer", one, unmodelled, "training.optimizer",
     "--use-precision-aware-optimizer"},
    {"optimizer.exp_avg_dtype", one, taken, "training.first_moment", "--exp-avg-dtype"},
    {"optimizer.exp_avg_sq_dtype", one, taken, "training.second_moment", "--exp-avg-sq-dtype"},
    {"optimizer.main_params_dtype", one, taken, "training.master_weights", "--main-params-dtype"},
    {"optimizer.optimizer_cpu_offload", one, taken, "training.offload.optimizer",
     "--optimizer-cpu-offload"},
    {"optimizer.optimizer_offload_fraction", one, taken, "training.offload.optimizer_part",
     "--optimizer-offload-fraction"},
};

constexpr IgnoredFlags nemo_ignored_table[] = {
    {"runs, logs, data, checkpoints, schedules of rates",
     "defaults hydra run exp_manager trainer dataset tokenizer logger checkpoint scheduler "
     "optimizer rng dist profiling peft validation rerun_state_machine straggler nvrx_straggler ft "
     "inprocess_restart tensor_inspect train model.data model.tokenizer model.optim "
     "model.nsys_profile name restore_from_path _target_ model._target_ ddp._target_ "
     "comm_overlap._target_"},
    {"initialisation and numerics",
     "model.init_method_std model.use_scaled_init_method model.attention_dropout model.ffn_dropout "
     "model.apply_query_key_layer_scaling model.layernorm_epsilon model.do_layer_norm_weight_decay "
     "model.pre_process model.post_process model.persist_layer_norm model.headscale "
     "model.transformer_block_type "
     "model.openai_gelu model.normalize_attention_scores model.rotary_percentage model.rotary_base "
     "model.rotary_interleaved model.attention_type model.seq_len_interpolation_factor "
     "model.native_amp_init_scale model.native_amp_growth_interval model.hysteresis "
     "model.fp32_residual_connection model.fp16_lm_cross_entropy model.megatron_amp_O2 "
     "model.grad_allreduce_chunk_size_mb model.grad_div_ar_fusion model.bias_activation_fusion "
     "model.bias_dropout_add_fusion model.masked_softmax_fusion model.seed "
     "model.resume_from_checkpoint model.use_cpu_initialization model.onnx_safe "
     "model.apex_transformer_log_level model.gradient_as_bucket_view model.sync_batch_comm "
     "model.num_micro_batches_with_partial_activation_checkpoints "
     "model.activations_checkpoint_layers_per_pipeline model.transformer_engine model.fp8_e4m3 "
     "model.fp8_hybrid model.fp8_margin model.fp8_interval model.fp8_amax_history_len "
     "model.fp8_amax_compute_algo model.use_emha model.use_flash_attention model.overlap_p2p_comm "
     "model.batch_p2p_comm model.gc_interval "
     "model.mcore_gpt model.rampup_batch_size model.name model.scale_positional_embedding "
     "model.defer_embedding_wgrad_compute model.wgrad_deferral_limit model.ub_tp_comm_overlap_cfg "
     "model.params_dtype model.pipeline_dtype model.autocast_dtype model.apply_rope_fusion "
     "model.should_pad_vocab ddp.average_in_collective ddp.check_for_nan_in_grad "
     "ddp.data_parallel_sharding_strategy"},
};

}  // namespace

std::span<const Flag> nemo_flags() { return nemo_table; }
std::span<const IgnoredFlags> nemo_ignored() { return nemo_ignored_table; }

}  // namespace stepcast::launch
