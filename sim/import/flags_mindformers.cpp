#include "flags.hpp"

// MindFormers r1.3 to r1.9, tools/register/template.py and parallel_core/**.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag mindformers_table[] = {
    {"parallel_config.data_parallel", one, taken, "parallel.dp", "", true},
    {"parallel_config.model_parallel", one, taken, "parallel.tp", "", true},
    {"parallel_config.pipeline_stage", one, taken, "parallel.pp", "", true},
    {"parallel_config.context_parallel", one, taken, "parallel.cp", "", true},
    {"parallel_config.expert_parallel", one, taken, "parallel.ep, parallel.etp",
     "use_legacy: etp is tp; else 1"},
    {"parallel_config.micro_batch_num", one, taken, "training.global_batch",
     "with several stages: batch_size x dp x this"},
    {"parallel_config.use_seq_parallel", one, taken, "parallel.sequence_parallel", ""},
    {"parallel_config.seq_split_num", one, taken, "schedule.slices",
     "with seqpipe, seqvpp and seqsmartvpp"},
    {"parallel_config.context_parallel_algo", one, taken, "parallel.context_algorithm",
     "colossalai_cp allgather, ulysses_cp ulysses, hybird_cp hybrid(u)"},
    {"parallel_config.ulysses_degree_in_cp", one, taken, "parallel.context_algorithm",
     "u of hybrid(u)"},
    {"runner_config.batch_size", one, taken, "training.micro_batch", ""},
    {"runner_config.gradient_accumulation_steps", one, taken, "training.global_batch",
     "with one stage"},
    {"micro_batch_interleave_num", one, taken, "training.micro_batch, communication.tensor.overlap",
     "2: twice the micro-batch, chunks(2)"},
    {"use_legacy", one, taken, "parallel.etp", "true unless given"},
    {"parallel.enable_parallel_optimizer", one, taken, "parallel.zero", "1, else 0"},
    {"parallel.parallel_optimizer_config.optimizer_weight_shard_size", one, taken,
     "parallel.dp_replicate", "data ranks over this; -1: all of them"},
    {"parallel.parallel_optimizer_config.gradient_accumulation_shard", one, taken, "parallel.zero",
     "2"},
    {"parallel.pipeline_config.pipeline_scheduler", one, taken, "schedule.pipeline",
     "1f1b, gpipe, seqpipe, seqvpp, seqsmartvpp, zero_bubble_v dualpipe_v; the environment may ask "
     "for schedule.warmup less_memory (ENABLE_LESS_MEM_VPP)"},
    {"parallel.pipeline_config.pipeline_interleave", one, taken, "parallel.vpp",
     "pp_interleave_num counts only with it"},
    {"recompute_config.recompute", any, taken, "training.recompute",
     "True full, or a table of layers"},
    {"optimizer.swap", one, taken, "training.offload.optimizer", "true"},
    {"optimizer.use_fused", one, taken, "runtime.optimizer", "fused, else elementwise"},
    {"context.graph_kernel_flags", one, taken, "communication.gradient.accumulation",
     "fused where it enables matmul_assignadd_fusion, else separate"},
    {"context.mode", one, taken, "runtime.dispatch", "1: eager"},
    {"context.jit_config.jit_level", one, taken, "runtime.dispatch",
     "O0 task_queue, O1 eager with fusion dvm, O2 graph_sink"},
    {"context.jit_level", one, taken, "runtime.dispatch", "as jit_config.jit_level"},
    {"moe_config.expert_num", one, taken, "model.moe.experts", ""},
    {"moe_config.num_experts_chosen", one, taken, "model.moe.top_k", ""},
    {"moe_config.shared_expert_num", one, taken, "model.moe.shared_experts",
     "each as wide as a routed one"},
    {"moe_config.moe_intermediate_size", one, taken, "model.moe.expert_hidden",
     "absent: intermediate_size"},
    {"moe_config.first_k_dense_replace", one, taken, "model.moe.first_dense", ""},
    {"moe_config.capacity_factor", one, taken, "moe.capacity_factor",
     "1.1 unless given; counts only without use_gmm, with moe.capacity_pad"},
    {"moe_config.use_gmm", one, taken, "moe.capacity_factor", "none"},
    {"moe_config.group_wise_a2a", one, taken, "moe.group_wise_a2a",
     "counts without use_gmm; true with use_seq_parallel, where newer versions exchange the tokens "
     "of each rank (1.3 does not)"},
    {"moe_config.n_group", one, taken, "model.moe.groups", ""},
    {"moe_config.topk_group", one, taken, "model.moe.top_groups", ""},
    {"moe_config.balance_via_topk_bias", one, taken, "model.moe.correction_bias", ""},
    {"moe_config.comp_comm_parallel", one, taken, "moe.overlap", "chunks(n)"},
    {"moe_config.comp_comm_parallel_degree", one, taken, "moe.overlap", "n, 2 unless given"},
    {"moe_config.enable_deredundency", one, taken, "moe.dispatch", "two_hop_dedup"},
    {"model.model_config.num_layers", one, taken, "model.layers", ""},
    {"model.model_config.num_hidden_layers", one, taken, "model.layers", ""},
    {"model.model_config.n_layer", one, taken, "model.layers", ""},
    {"model.model_config.hidden_size", one, taken, "model.hidden", ""},
    {"model.model_config.num_heads", one, taken, "model.attention.heads", ""},
    {"model.model_config.num_attention_heads", one, taken, "model.attention.heads", ""},
    {"model.model_config.n_kv_heads", one, taken, "model.attention.kv_heads", "absent: as heads"},
    {"model.model_config.num_key_value_heads", one, taken, "model.attention.kv_heads",
     "absent: as heads"},
    {"model.model_config.head_dim", one, taken, "model.attention.head_dim",
     "absent: hidden / heads"},
    {"model.model_config.intermediate_size", one, taken, "model.ffn.hidden",
     "absent: of multiple_of and ffn_dim_multiplier"},
    {"model.model_config.multiple_of", one, taken, "model.ffn.hidden", "256 unless given"},
    {"model.model_config.ffn_dim_multiplier", one, taken, "model.ffn.hidden", ""},
    {"model.model_config.vocab_size", one, taken, "model.vocabulary", ""},
    {"model.model_config.seq_length", one, taken, "training.sequence", ""},
    {"train_dataset.data_loader.config.seq_length", one, taken, "training.sequence",
     "where the model does not say it"},
    {"model.model_config.max_position_embedding", one, taken, "model.position",
     "of learned positions"},
    {"model.model_config.max_position_embeddings", one, taken, "model.position",
     "of learned positions"},
    {"model.model_config.qkv_has_bias", one, taken, "model.bias", "qkv"},
    {"model.model_config.attention_bias", one, taken, "model.bias", "qkv"},
    {"model.model_config.tie_word_embeddings", one, taken, "model.tied_embeddings",
     "false unless given"},
    {"model.model_config.type", one, taken, "model.norm, model.bias, model.position",
     "the class: GPT2Config has layer norms, biases and learned positions"},
    {"model.model_config.model_type", one, taken, "model", "the class"},
    {"model.model_config.sandwich_norm", one, taken, "model.norm",
     "sandwich, as in Pangu's config.json"},
    {"model.model_config.use_qk_norm", one, taken, "model.qk_norm", "head"},
    {"model.model_config.qk_layernorm", one, taken, "model.qk_norm", "head"},
    {"model.model_config.q_lora_rank", one, taken, "model.attention.q_lora_rank", ""},
    {"model.model_config.kv_lora_rank", one, taken, "model.attention.kv_lora_rank",
     "makes attention latent"},
    {"model.model_config.qk_nope_head_dim", one, taken, "model.attention.nope_dim", ""},
    {"model.model_config.qk_rope_head_dim", one, taken, "model.attention.rope_dim", ""},
    {"model.model_config.v_head_dim", one, taken, "model.attention.v_dim", ""},
    {"model.model_config.mtp_depth", one, taken, "model.mtp_layers", ""},
    {"model.model_config.num_nextn_predict_layers", one, taken, "model.mtp_layers", ""},
    {"model.model_config.n_routed_experts", one, taken, "model.moe.experts", ""},
    {"model.model_config.num_experts", one, taken, "model.moe.experts", ""},
    {"model.model_config.num_experts_per_tok", one, taken, "model.moe.top_k", ""},
    {"model.model_config.n_shared_experts", one, taken, "model.moe.shared_experts", ""},
    {"model.model_config.moe_intermediate_size", one, taken, "model.moe.expert_hidden", ""},
    {"model.model_config.first_k_dense_replace", one, taken, "model.moe.first_dense", ""},
    {"model.model_config.n_group", one, taken, "model.moe.groups", ""},
    {"model.model_config.topk_group", one, taken, "model.moe.top_groups", ""},
    {"model.model_config.moe_token_dispatcher_type", one, taken, "moe.dispatch",
     "alltoall flat, alltoall_deredundency two_hop_dedup"},
    {"model.model_config.pp_interleave_num", one, taken, "parallel.vpp",
     "counts only with pipeline_interleave"},
    {"model.model_config.offset", any, taken, "parallel.layers_per_chunk",
     "against the even share, by stage or by chunk and stage"},
    {"model.model_config.use_flash_attention", one, taken, "training.attention",
     "fused, else unfused"},
    {"model.model_config.fine_grain_interleave", one, taken, "communication.tensor.overlap",
     "chunks(n)"},
    {"model.model_config.compute_dtype", one, taken, "training.precision", "bfloat16, float16"},
    {"model.model_config.param_init_type", one, taken, "training.master_weights",
     "float32 without stages: stored; with them each part is cast before it is gathered"},
    {"model.model_config.params_dtype", one, taken, "training.master_weights",
     "as param_init_type"},
    {"model.model_config.hidden_dropout_prob", one, taken, "training.dropout", "above 0"},
    {"model.model_config.embed_dropout_prob", one, refused, "training.dropout",
     "dropout of the embedding", false, "0|0.|0.0"},
    {"model.model_config.emb_dropout_prob", one, refused, "training.dropout",
     "dropout of the embedding", false, "0|0.|0.0"},
    {"model.model_config.res_dtype", one, unmodelled, "training.precision",
     "the type of the residual stream"},
    {"model.model_config.residual_dtype", one, unmodelled, "training.precision",
     "the type of the residual stream"},
    {"model.model_config.kv_channels", one, taken, "model.attention.head_dim", "as head_dim"},
    {"model.model_config.ffn_hidden_size", one, taken, "model.ffn.hidden", "as intermediate_size"},
    {"model.model_config.padded_vocab_size", one, taken, "model.vocabulary", "as vocab_size"},
    {"model.model_config.multi_query_group_num", one, taken, "model.attention.kv_heads",
     "as n_kv_heads"},
    {"model.model_config.add_qkv_bias", one, taken, "model.bias", "qkv"},
    {"model.model_config.untie_embeddings_and_output_weights", one, taken, "model.tied_embeddings",
     "false"},
    {"model.model_config.apply_residual_connection_post_layernorm", one, refused, "model.norm",
     "residuals behind the norm", false, "False"},
    {"model.model_config.multi_query_attention", one, refused, "model.attention.kv_heads",
     "False: every head has its own", false, "True|true"},
    {"model.model_config.mlp_concat", one, unmodelled, "runtime.kernels",
     "matrices of the feed-forward layer side by side", false, "False"},
    {"model.model_config.ffn_concat", one, unmodelled, "runtime.kernels",
     "matrices of the feed-forward layer side by side", false, "False"},
    {"moe_config.ep_extend_tp", one, unmodelled, "parallel.etp",
     "experts that are not spread over the tensor ranks", false, "True|true"},
    {"model.model_config.hidden_dropout_rate", one, taken, "training.dropout", "above 0"},
    {"model.model_config.use_ring_attention", one, taken, "parallel.context_algorithm", "ring"},
    {"model.model_config.pet_config.pet_type", one, taken, "training.adapters.rank",
     "lora, or none: all weights are trained"},
    {"model.model_config.pet_config.lora_rank", one, taken, "training.adapters.rank",
     "8 unless given"},
    {"model.model_config.pet_config.target_modules", any, taken, "training.adapters.targets",
     "wq, wk, wv, wo, w1, w2, w3, linear_qkv and the like, between |"},
    {"model.model_config.pet_config.lora_dropout", one, taken, "training.adapters.dropout",
     "above 0; 0.01 unless given"},
    {"model.model_config.pet_config", any, lacking, "training.adapters.kind",
     "another kind of adapter", false, "", true},
    {"recompute_config.select_recompute", any, taken, "training.recompute",
     "True: {modules: [mlp_act]} of a dense model; lists and other operators are refused", false,
     "", true},
    {"recompute_config.select_comm_recompute", any, unmodelled, "training.recompute",
     "communication of a rebuild", false, "False", true},
    {"recompute_config.mp_comm_recompute", one, unmodelled, "training.recompute",
     "tensor collectives that a rebuild does not run again", false, "True"},
    {"recompute_config.parallel_optimizer_comm_recompute", one, unmodelled, "training.recompute",
     "gathers of a rebuild", false, "False"},
    {"recompute_config.recompute_slice_activation", one, unmodelled, "training.recompute",
     "saved inputs cut over tensor ranks", false, "False"},
    {"parallel_config.vocab_emb_dp", one, unmodelled, "parallel.tp",
     "the table of the embedding whole on every tensor rank", false, "False"},
    {"parallel_config.gradient_aggregation_group", one, unmodelled, "communication.gradient.bucket",
     "layers of one collective: a number of elements is the key", false, "1"},
    {"parallel.parallel_optimizer_config.parallel_optimizer_threshold", one, unmodelled,
     "parallel.zero", "small parameters stay whole"},
    {"model.model_config.fp32_residual_connection", one, unmodelled, "training.precision",
     "FP32 residual stream", false, "False"},
    {"swap_config.swap", one, refused, "training.offload.activations",
     "a part that the file does not say", false, "False"},
    {"model.model_config.sliding_window", one, refused, "model.attention.window", "sliding windows",
     false, "null"},
    {"moe_config.use_shared_expert_gating", one, unmodelled, "model.moe.shared_gate",
     "a gate of one column", false, "False"},
    {"moe_config.use_allgather_dispatcher", one, refused, "moe.dispatch", "a dispatcher of its own",
     false, "False"},
    {"model.model_config.hidden_act", one, refused, "model.ffn.kind", "another activation", false,
     "silu|swiglu|fusedswiglu"},
    {"model.model_config.gated_linear_unit", one, refused, "model.ffn.kind",
     "a layer without a gate", false, "True"},
    {"model.model_config.normalization", one, refused, "model.norm", "another norm", false,
     "RMSNorm|FusedRMSNorm"},
    {"model.model_config.position_embedding_type", one, refused, "model.position",
     "other positions", false, "rope|yarn|mrope|partial_rope"},
    {"model.model_config.add_bias_linear", one, refused, "model.bias", "biases of all products",
     false, "False"},
    {"model.model_config.hidden_dropout", one, refused, "training.dropout", "dropout", false,
     "0|0.0"},
    {"model.model_config.resid_dropout", one, refused, "training.dropout", "dropout", false,
     "0|0.0"},
    {"model.model_config.moe_grouped_gemm", one, refused, "moe.experts", "experts one by one",
     false, "True"},
    {"model.model_config.multi_latent_attention", one, unmodelled, "model.attention.kind",
     "attention is latent where kv_lora_rank says so", false, "True"},
    {"model.model_config.qkv_concat", one, unmodelled, "runtime.kernels",
     "one product for queries, keys and values", false, "True"},
    {"model.model_config.eod_reset", one, refused, "schedule.data.mask",
     "documents that do not see each other", false, "False"},
    {"model.model_config.use_eod_attn_mask_compression", one, refused, "schedule.data.mask",
     "documents that do not see each other", false, "False"},
    {"model.model_config.layernorm_compute_type", one, unmodelled, "runtime.kernels.norm",
     "the type in which norms are computed", false, "float32"},
    {"model.model_config.layernorm_compute_dtype", one, unmodelled, "runtime.kernels.norm",
     "the type in which norms are computed", false, "float32"},
    {"model.model_config.softmax_compute_type", one, unmodelled, "training.attention",
     "the type of the softmax inside the kernel", false, "float32"},
    {"model.model_config.softmax_compute_dtype", one, unmodelled, "training.attention",
     "the type of the softmax inside the kernel", false, "float32"},
    {"model.model_config.rotary_dtype", one, unmodelled, "runtime.kernels.rope",
     "the type in which positions rotate", false, "float32"},
    {"model.model_config.use_fused_rope", one, taken, "runtime.kernels.rope",
     "fused, else unfused"},
    {"model.model_config.use_fused_swiglu", one, taken, "runtime.kernels.activation",
     "fused, else unfused"},
    {"model.model_config.use_fused_ops_permute", one, taken, "moe.permutation", "fused"},
    {"model.model_config.use_fused_ops_topkrouter", one, taken, "runtime.kernels.router", "fused"},
    {"model.model_config.router_dense_type", one, taken, "moe.router.precision", "float32 fp32"},
    {"model.model_config.moe_router_dtype", one, taken, "moe.router.precision", "float32 fp32"},
    {"model.model_config.scoring_func", one, taken, "moe.router.score", "softmax, sigmoid"},
    {"model.model_config.moe_router_score_function", one, taken, "moe.router.score",
     "softmax, sigmoid"},
    {"model.model_config.aux_loss_factor", one, taken, "moe.router.aux_loss", "true above 0"},
    {"model.model_config.moe_aux_loss_coeff", any, taken, "moe.router.aux_loss", "true above 0"},
    {"model.model_config.moe_router_enable_expert_bias", one, taken, "model.moe.correction_bias",
     ""},
    {"moe_config.aux_loss_factor", one, taken, "moe.router.aux_loss", "true above 0"},
    {"moe_config.aux_loss_factors", any, taken, "moe.router.aux_loss", "true above 0"},
    {"moe_config.use_moe_auxloss", one, taken, "moe.router.aux_loss", ""},
    {"moe_config.z_loss_factor", one, taken, "moe.router.z_loss", "true above 0"},
    {"moe_config.router_dense_type", one, taken, "moe.router.precision", "float32 fp32"},
    {"moe_config.use_gating_sigmoid", one, taken, "moe.router.score", "sigmoid"},
    {"moe_config.use_fused_ops_topkrouter", one, taken, "runtime.kernels.router", "fused"},
    {"moe_config.use_fused_ops_permute", one, taken, "moe.permutation", "fused"},
    {"moe_config.expert_bias", one, taken, "model.moe.correction_bias", ""},
    {"moe_config.enable_sdrop", one, unmodelled, "moe.capacity_factor", "another choice of tokens",
     false, "False"},
    {"moe_config.topk_group_wise", one, unmodelled, "model.moe.groups", "a choice by group", false,
     "False"},
    {"moe_config.group_expert_dispatch", one, refused, "moe.dispatch", "a dispatcher of its own",
     false, "False"},
    {"moe_config.use_3d_tensor_parallel", one, refused, "parallel.tp",
     "tensor parallelism in three directions", false, "False"},
    {"moe_config.enable_cold_hot_expert", one, refused, "moe.placement",
     "experts that move while it runs", false, "False"},
    {"parallel.force_fp32_communication", one, refused, "communication.gradient.precision",
     "reductions in FP32", false, "False"},
    {"optimizer.type", one, lacking, "training.optimizer", "optimizers other than Adam", false,
     "AdamW|FP32StateAdamWeightDecay|FusedAdamW|FusedCastAdamWeightDecay|Adam|AdamWeightDecay"},
    {"context.ascend_config.parallel_speed_up_json_path", one, unmodelled,
     "communication.tensor.overlap", "switches of another file", false, ""},
};

constexpr IgnoredFlags mindformers_ignored_table[] = {
    {"runs, logs, checkpoints, evaluation",
     "seed:any output_dir load_checkpoint src_strategy_path_or_dir auto_trans_ckpt "
     "only_save_strategy "
     "resume_training run_mode trainer do_eval eval_step_interval eval_epoch_interval "
     "eval_callbacks callbacks auto_tune filepath_prefix autotune_per_step profile "
     "profile_start_step profile_stop_step "
     "init_start_profile profile_communication profile_memory profile_level remote_save_url metric "
     "processor load_ckpt_format pretrained_model_dir use_parallel eval_dataset eval_dataset_task "
     "monitor_config save_checkpoint layer_scale layer_decay lr_scale_factor lr_scale infer "
     "print_separate_loss ignore_data_skip profiler_level transform_process_num use_graceful_exit "
     "train_precision_sync infer_precision_sync parallel.loss_repeated_mean "
     "parallel_config.optimizer_shard"},
    {"optimizer and learning rate", "optimizer lr_schedule runner_wrapper"},
    {"scaling and initialisation of adapters",
     "model.model_config.pet_config.lora_alpha model.model_config.pet_config.lora_a_init "
     "model.model_config.pet_config.lora_b_init "
     "model.model_config.pet_config.freeze_include model.model_config.pet_config.freeze_exclude"},
    {"data", "train_dataset train_dataset_task runner_config"},
    {"how graphs are made and files are written",
     "context parallel.parallel_mode parallel.gradients_mean parallel.enable_alltoall "
     "parallel.full_batch parallel.dataset_strategy "
     "parallel.search_mode parallel.strategy_ckpt_save_file parallel.strategy_ckpt_config "
     "parallel.pipeline_config "
     "parallel.parallel_optimizer_config parallel_config.recompute parallel_config.mem_coeff "
     "swap_config "
     "parallel.enable_parallel_optimizer_comm  "
     "parallel.auto_strategy_search parallel.device_num"},
    {"router losses and scores, of the size of a kernel",
     "  moe_config.aux_loss_types "
     "moe_config.routing_policy  "
     "  "
     " moe_config.norm_topk_prob "
     " moe_config.max_router_load moe_config.topk_method "
     "moe_config.routed_scaling_factor  "
     "moe_config.topk_bias_update_rate  moe_config.noisy_policy "
     "moe_config.noisy_epsilon "
     "moe_config.expert_group_size moe_config.callback_moe_droprate moe_config.cur_layer "
     " "
     "moe_config.save_token_distribution  "
     "moe_config.return_extra_loss moe_config.norm_topk "
     "moe_config.balance_routing  moe_config.npu_nums_per_device "
     " "
     ""},
    {"numbers that change no shape",
     "model.model_config.batch_size model.model_config.theta:above "
     "model.model_config.rope_theta:above "
     "model.model_config.rms_norm_eps "
     "model.model_config.bos_token_id model.model_config.pad_token_id "
     "model.model_config.eos_token_id model.model_config.ignore_token_id:any "
     "  "
     " "
     "  "
     "model.model_config.use_past "
     "model.model_config.extend_method model.model_config.use_past_shard "
     "model.model_config.checkpoint_name_or_path "
     "model.model_config.repetition_penalty model.model_config.max_decode_length "
     "model.model_config.top_k model.model_config.top_p "
     "model.model_config.do_sample model.model_config.is_dynamic "
     "model.model_config.use_attn_mask_compression "
     "model.model_config.scaling_factor  "
     "model.model_config.initializer_range "
     "model.model_config.initializer_std model.model_config.rotary_base:above "
     " "
     " model.model_config.layernorm_epsilon "
     "model.model_config.embedding_init_type "
     "model.model_config.block_size model.model_config.num_blocks "
     "  "
     "  "
     "model.model_config.use_contiguous_weight_layout_attention  "
     " "
     "model.model_config.attention_dropout:share  "
     "model.model_config.swap_qkv_weight "
     " model.model_config.norm_topk_prob "
     "model.model_config.routed_scaling_factor "
     "  "
     "model.model_config.moe_router_load_balancing_type "
     "  "
     "model.model_config.moe_router_bias_update_rate model.model_config.use_pad_tokens "
     "model.model_config.callback_moe_droprate "
     " model.model_config.mtp_loss_factor "
     "model.model_config.mtp_loss_scaling_factor "
     "model.model_config.input_sliced_sig model.model_config.return_extra_loss "
     "model.model_config.parallel_config "
     "model.model_config.recompute_config model.model_config.moe_config "
     "model.model_config.attention_dropout_rate:share "
     "  "
     "model.model_config.use_rearrange_rope  "
     " "
     "model.model_config.monitor_max_attention_logit "
     "model.model_config.print_expert_load  "
     " "
     ""
     "model.model_config.auto_register model.model_config.auto_map "
     "model.model_config.architectures "
     "model.model_config.attention_dropout_prob:share model.model_config.rotary_pct "
     "model.model_config.rotary_emb_base model.model_config.rope_ratio "
     "model.model_config.pretrain_seqlen model.model_config.compute_in_2d "
     "model.model_config.parallel_optimizer model.model_config.use_cache "
     "model.model_config.use_contiguous_weight_layout model.model_config.sigma "
     "model.model_config.mean model.model_config.rmsnorm model.model_config.post_layer_norm "
     "model.model_config.bias_dropout_fusion model.model_config.apply_query_key_layer_scaling "
     "model.model_config.attention_softmax_in_fp32 model.model_config.quantization_bit "
     "model.model_config.pre_seq_len model.model_config.prefix_projection "
     "model.model_config.max_length model.arch model.pretrained_model_dir"},
};

}  // namespace

std::span<const Flag> mindformers_flags() { return mindformers_table; }
std::span<const IgnoredFlags> mindformers_ignored() { return mindformers_ignored_table; }

}  // namespace stepcast::launch
