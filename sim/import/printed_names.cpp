#include "printed_names.hpp"

#include <algorithm>

// Read in megatron/training/arguments.py of Megatron-LM core_v0.4 to core_v0.19 and d98e8a64ddf3,
// MindSpeed and MindSpeed-LLM c77308a14bfc (features_manager), Megatron-DeepSpeed (arguments.py).
namespace stepcast::launch {
namespace {

constexpr PrintedName names[] = {
    {"fp8", "--fp8-format"},
    {"fp4", "--fp4-format"},
    {"microbatch_group_size_per_vp_stage", "--microbatch-group-size-per-virtual-pipeline-stage"},
    {"overlap_p2p_comm_warmup_flush", "--overlap-p2p-communication-warmup-flush"},
    {"use_flash_attn_v1", "--use-flash-attn"},
    {"add_bias_linear", "--disable-bias-linear", true},
    {"overlap_p2p_comm", "--no-overlap-p2p-communication", true},
    {"apply_rope_fusion", "--no-rope-fusion", true},
    {"add_position_embedding", "--no-position-embedding", true},
    {"perform_initialization", "--no-initialization", true},
    {"enable_gloo_process_groups", "--disable-gloo-process-groups", true},
    {"moe_token_dropping", "--disable-moe-token-dropping", true},
    {"num_moe_experts", "--num-experts"},
    {"cpu_offloading_num_layers", "--cpu-offloading-num-layers"},
    {"bias_activation_fusion", "--no-bias-swiglu-fusion", true},
    {"layernorm_zero_centered_gamma", "--apply-layernorm-1p"},
    {"async_tensor_model_parallel_allreduce", "--no-async-tensor-model-parallel-allreduce", true},
};

/// What is worked out of flags, or says nothing about a step.
constexpr std::string_view derived =
    "rank local_rank world_size data_parallel_size iteration curr_iteration consumed_train_samples "
    "consumed_valid_samples skipped_train_samples params_dtype encoder_num_layers "
    "encoder_seq_length decoder_num_layers decoder_seq_length "
    "transformer_pipeline_model_parallel_size virtual_pipeline_model_parallel_size "
    "variable_seq_lengths replication_jump iter_per_epoch head_lr_mult img_h img_w num_channels "
    "patch_dim num_classes data_cache_path cache_dir json_keys prompt_type_path "
    "transformer_pipeline start_weight_decay end_weight_decay deepspeed deepspeed_configuration "
    "deepspeed_mpi deepscale deepscale_config timing_log_level no_load_rng no_load_optim do_train "
    "do_valid do_test model_type num_floating_point_operations_so_far dataloader_type "
    "blendable_index_path tokenizer_name is_pretrained_single_model stage task save_dir "
    "app_tag_run_name app_tag_run_version yaml_cfg enable_msc num_dataset_builder_threads "
    "async_strategy yarn_correction_range_round_to_int ";

/// Beginnings of names of other jobs: inference, images, retrieval, reinforcement, checkpoints.
constexpr std::string_view others =
    "inference_ dino_ retro_ rl_ grpo_ langrl_ fim_ muon_ inprocess_ ft_ logits_ mamba_inference_ "
    "ttp_ auto_settings_ profile_ soap_ adaptive_muon_ lion_ swin_ vision_ mask_ one_logger_ "
    "biencoder_ bert_ sft_ tp_comm_bulk_ tp_comm_split_ tp_comm_overlap_ tp_comm_bootstrap_ "
    "error_injection_ dpo_ lu_lora_ flight_recorder_ kl_loss_ reader_ indexer_log ict_ "
    "tokenizer_hf_ async_ckpt_ ckpt_fully_ data_per_ relative_attention_ use_tokenizer_model_ "
    "non_persistent_ hccl_ep_ wandb_ tensorboard_ rerun_ straggler_ eval_ log_ save_ load_ "
    "evaluation_ ";

/// `name=value` of what is so unless said.
constexpr std::string_view defaults =
    "adlr_autoresume_interval=1000 app_tag_run_version=0.0.0 barrier_with_L1_time=True "
    "classes_fraction=1.0 cuda_graph_warmup_steps=2 cuda_graph_warmup_steps=3 "
    "delay_grad_reduce=True disable_chunked_prefill=True dist_ckpt_workers=1 enable_msc=True "
    "fp4_recipe=nvfp4 head_lr_mult=1.0 img_h=224 img_w=224 indexer_batch_size=128 "
    "iter_per_epoch=1250 mamba_head_dim=64 mamba_num_groups=8 max_tokens_to_oom=12000 "
    "megatron_fsdp_grad_comm_dtype=auto megatron_fsdp_main_grads_dtype=auto "
    "megatron_fsdp_main_params_dtype=fp32 megatron_fsdp_version=1 mid_level_dataset_surplus=0.005 "
    "mlp_chunks_for_prefill=1 moe_upcycling_granularity=1 num_channels=3 num_classes=1000 "
    "num_dataset_builder_threads=1 offset_sampling_seed_by_dp_rank=True patch_dim=16 "
    "pin_cpu_grads=True pin_cpu_params=True query_in_block_prob=0.1 refit_method=gloo "
    "replication_factor=2 retriever_seq_length=256 sample_rate=1.0 short_seq_prob=0.1 "
    "softmax_type=vanilla torch_fsdp2_reshard_after_forward=True use_layer_wise_param_layout=True "
    "yarn_correction_range_round_to_int=True batch_p2p_comm=True batch_p2p_sync=True "
    "cpu_offloading_activations=True cpu_offloading_weights=True preserve_fp32_weights=True "
    "check_for_nan_in_loss=True qk_clip_alpha=0.5 qk_clip_threshold=100 "
    "use_mamba_mem_eff_path=True kitchen_attention_backend=sdpa decoupled_weight_decay=True "
    "store_param_remainders=True num_layers_at_start_in_bf16=1 num_layers_at_end_in_bf16=1 "
    "optimizer_offload_fraction=1.0 mamba_state_dim=128 mamba_head_dim=64 mamba_num_groups=8 "
    "cuda_graph_impl=none cuda_graph_scope=full cuda_graph_modules=full "
    "outer_dp_sharding_strategy=no_shard dsa_indexer_topk_freq=1 dsa_kernel_backend=none "
    "moe_hybridep_num_sms_preprocessing=108 hash_experts=1 mhc_num_residual_streams=4 "
    "mhc_sinkhorn_iterations=20 mhc_init_gating_factor=0.01 cp_window_size=1 coc_parallel_num=1 "
    "coc_mode=-1 expert_interval=1 moe_zero_memory=disable swap_optimizer_times=16 "
    "pre_tockens=65536 pre_tockens=1048576 next_tockens=0 shape_order=SBH "
    "loss_compute_mode=default loss_chunk_size=1024 mamba_d_conv=4 cla_share_factor=1 "
    "output_layer_slice_num=1 index_n_heads=64 index_head_dim=128 index_topk=2048 "
    "padded_base_length=128 moe_model_type=megatron_moe moe_train_capacity_factor=1.0 "
    "moe_adaptive_recompute_activation_scale=2.0 adaptive_recompute_device_size=-1 "
    "adaptive_recompute_profiling_step=10 "
    "swap_modules=input_norm,self_attention,post_attention_norm pipe_experts_multi_data=1 "
    "ampipe_degree=1 optimizer_selection=fused_adamw ema_decay=0.9999 skip_bias_add=True "
    "save_memory_ratio=0.2 recompute_type=2 optimized_mbs_mode=True optimization_level=2 "
    "nd1_dim1_size=1 nd2_dim1_size=1 tp_x=1 tp_y=1 target_nnodes=1 nnodes=1 nproc_per_node=1 "
    "master_addr=127.0.0.1 master_port=29500 compress_dense=disable use_gmm_fp8=True "
    "te_gmm_mode=compatible balanced_moe_hot_expert_num=3 trans_hot_expert_group_num=3 "
    "expert_placement_freq=50 fine_grained_expert_placement_thre=0.08 qad_enable=True "
    "kl_temperature=1.0 aiqos_mode=auto fix_sub_seq_length=-1 "
    "kv_head_repeat_before_uly_alltoall=True mix_strategy=concat workers=1 n_subs=1 "
    "drop_thinking=True refer_model_iter=1 lora_r=16 lora_alpha=32 top_p=0.95 top_k=50 "
    "temperature=0.7 max_length=256 max_new_tokens=128 history_turns=3 mamba_chunk_size=256 "
    "mamba_expand=1 input_jitter=True shared_expert_gate_output_dimension=1 hc_mult=4 "
    "hc_sinkhorn_iters=20 hc_eps=1e-06 o_groups=8 o_lora_rank=1024 sliding_window_size=128 "
    "indexer_loss_coeff=1.0 max_batch_size=4 original_seq_len=65536 compress_rope_theta=40000.0 "
    "rope_theta=10000.0 rope_factor=4.0 index_topk_freq=1 index_skip_topk_offset=2 "
    "moba_chunk_size=64 moba_topk=2 moba_calc_method=1 yarn_scaling_factor=1.0 "
    "hccl_slice_size=10485760 rope_theta=10000 mem_efficient_ln=True "
    "moe_top2_2nd_expert_sampling=True ds_sequence_parallel_fpdt_chunk_size=65536 DDP_impl=local "
    "use_contiguous_buffers_in_local_ddp=True data_impl=infer tile_factor=1 "
    "num_experts_teacher=[1] kd_alpha_ce=1 kd_beta_ce=1 kd_temp=1.0 mlp_type=standard "
    "remote_device=none ds_sequence_parallel_size=1 ";

/// Calls `use` with each word; true where one says so.
template <typename Use>
bool any_word(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!word.empty() && use(word)) return true;
  }
  return false;
}

}  // namespace

std::span<const PrintedName> printed_names() { return names; }

bool is_printed_default(std::string_view name, std::string_view value) {
  // Derived values follow from others in the log and are no settings.
  if (any_word(derived, [&](std::string_view word) { return word == name; })) return true;
  if (name == "retro_add_retriever") return false;
  if (any_word(others, [&](std::string_view word) { return name.starts_with(word); })) return true;
  return any_word(defaults, [&](std::string_view word) {
    const std::size_t equals = word.find('=');
    return word.substr(0, equals) == name && word.substr(equals + 1) == value;
  });
}

}  // namespace stepcast::launch
