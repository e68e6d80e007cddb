#include "flags.hpp"

// What runs the Trainer of Transformers: its own flags, LLaMA-Factory (ff6d4d12), axolotl
// (067b021c) and ms-swift (3602360a). Keys say what a name is; names differ.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag trainer_table[] = {
    {"--model_name_or_path", one, taken, "model", "a Hugging Face model"},
    {"--config_name", one, taken, "model", "as --model_name_or_path, before it"},
    {"--per_device_train_batch_size", one, taken, "training.micro_batch", "8 unless given"},
    {"--gradient_accumulation_steps", one, taken, "training.global_batch", "micro x steps x DP"},
    {"--max_seq_length", one, taken, "training.sequence", ""},
    {"--model_max_length", one, taken, "training.sequence", ""},
    {"--max_length", one, taken, "training.sequence", ""},
    {"--block_size", one, taken, "training.sequence", ""},
    {"--max_seq_len", one, taken, "training.sequence", ""},
    {"--config_overrides", one, refused, "model",
     "sizes that differ from those of the model's configuration"},
    {"--zero_stage", one, refused, "parallel.zero",
     "a configuration that its program makes; give --deepspeed FILE"},
    {"--cutoff_len", one, taken, "training.sequence", ""},
    {"--bf16", any, taken, "training.precision", "bf16"},
    {"--fp16", any, taken, "training.precision", "fp16"},
    {"--deepspeed", one, taken, "parallel.zero", "the JSON, beside the file or --deepspeed"},
    {"--fsdp", any, taken, "parallel.zero",
     "full_shard 3, shard_grad_op 2, hybrid_shard 3 in each node"},
    {"--gradient_checkpointing", any, taken, "training.recompute", "full"},
    {"--attn_implementation", one, taken, "training.attention", "eager unfused, else fused"},
    {"--optim", one, taken, "runtime.optimizer", "adamw_torch elementwise, with fused fused"},
    {"--use_liger_kernel", any, taken, "runtime.kernels",
     "norms, rotary positions, activations "
     "and the loss in one kernel each"},
    {"--torch_compile", any, taken, "runtime.fusion", "pattern"},
    {"--packing", any, taken, "schedule.data.documents", "full sequences"},
    {"--use_lora", any, taken, "training.adapters", "lora"},
    {"--use_peft", any, taken, "training.adapters", "lora"},
    {"--finetuning_type", one, taken, "training.adapters", "full, lora"},
    {"--lora_r", one, taken, "training.adapters.rank", "8 unless given"},
    {"--lora_rank", one, taken, "training.adapters.rank", "8 unless given"},
    {"--lora_target_modules", any, taken, "training.adapters.targets", "all unless given"},
    {"--lora_target", any, taken, "training.adapters.targets", "all unless given"},
    {"--lora_dropout", one, taken, "training.adapters.dropout", "above 0"},
    {"--load_in_4bit", any, taken, "training.adapters.frozen", "nf4"},
    {"--load_in_8bit", any, refused, "training.adapters.frozen",
     "products of bytes (LLM.int8()); int8 is of weights alone", false, "False"},
    {"--use_dora", any, refused, "training.adapters", "magnitudes beside the adapters", false,
     "False"},
    {"--lora_modules_to_save", any, lacking, "training.adapters.trained", "modules trained whole"},
    {"--fsdp_config", any, refused, "parallel.zero", "a file of settings; say them by --fsdp"},
    {"--stage", one, refused, "training", "a training with more models than one", false, "pt|sft"},
    {"--torch_dtype", one, unmodelled, "training.master_weights",
     "the type of loaded weights; FP32 is kept beside it"},
    {"--dtype", one, unmodelled, "training.master_weights", "as --torch_dtype"},
    {"--group_by_length", any, unmodelled, "schedule.data.documents", "samples of like lengths",
     false, "False"},
    {"--padding_free", any, unmodelled, "schedule.data.documents", "samples without padding", false,
     "False"},
    {"--full_determinism", any, unmodelled, "runtime.kernels",
     "kernels that give the same bits every time", false, "False"},
    {"--ddp_find_unused_parameters", any, unmodelled, "runtime.kernels",
     "a search of the graph for parameters without a gradient", false, "False"},
    {"--torch_empty_cache_steps", one, unmodelled, "stalls", "memory that is given back"},
    {"--neftune_noise_alpha", one, unmodelled, "runtime.kernels", "noise on the embeddings", false,
     "0"},
};

constexpr IgnoredFlags trainer_ignored_table[] = {
    {"runs, logs, checkpoints, rates, data",
     "lora_alpha output_dir overwrite_output_dir do_train do_eval do_predict eval_strategy "
     "evaluation_strategy eval_steps per_device_eval_batch_size learning_rate weight_decay "
     "adam_beta1 adam_beta2 adam_epsilon max_grad_norm num_train_epochs max_steps "
     "lr_scheduler_type lr_scheduler_kwargs warmup_ratio:share warmup_steps logging_dir "
     "logging_steps "
     "logging_strategy logging_first_step save_strategy save_steps save_total_limit "
     "save_only_model save_safetensors seed:any data_seed:any dataloader_num_workers "
     "dataloader_drop_last dataloader_pin_memory dataloader_persistent_workers run_name report_to "
     "remove_unused_columns ddp_timeout local_rank tf32 "
     "resume_from_checkpoint ignore_data_skip load_best_model_at_end metric_for_best_model "
     "gradient_checkpointing_kwargs push_to_hub hub_model_id disable_tqdm "
     "log_level tokenizer_name train_file validation_file dataset_name dataset_config_name "
     "data_path dataset dataset_dir template trust_remote_code cache_dir streaming "
     "preprocessing_num_workers dataset_num_proc max_train_samples max_eval_samples "
     "validation_split_percentage use_fast_tokenizer low_cpu_mem_usage "
     "overwrite_cache include_tokens_per_second lazy_preprocess "
     "eval_on_start prediction_loss_only fsdp_transformer_layer_cls_to_wrap "
     "plot_loss max_samples hub_token hub_strategy hub_private_repo greater_is_better "
     "include_num_input_tokens_seen logging_nan_inf_filter log_level_replica log_on_each_node "
     "save_on_each_node skip_memory_metrics dataloader_prefetch_factor eval_delay "
     "eval_accumulation_steps bf16_full_eval fp16_full_eval label_smoothing_factor model_revision "
     "use_rslora lora_task_type lora_bias use_bnb_nested_quant bnb_4bit_quant_type "
     "dataset_text_field dataset_kwargs dataset_batch_size dataset_train_split dataset_test_split "
     "eos_token pad_token completion_only_loss assistant_only_loss eval_packing "
     "model_type keep_linebreaks preprocessing_batch_size data_split data_output_path "
     "num_warmup_steps enable_tensorboard tensorboard_path print_loss chat_template "
     "dataset_mixture dataset_mixer dataset_splits dataset_configs model_init_kwargs use_cache "
     "hub_model_revision system_prompt benchmarks callbacks hub_always_push "
     "average_tokens_across_devices dataset_config packing_strategy "
     "wandb_entity wandb_project auto_insert_empty_system_msg"},
};

constexpr Flag llama_factory_table[] = {
    {"model_name_or_path", one, taken, "model", "a Hugging Face model"},
    {"per_device_train_batch_size", one, taken, "training.micro_batch", "8 unless given"},
    {"gradient_accumulation_steps", one, taken, "training.global_batch", "micro x steps x DP"},
    {"cutoff_len", one, taken, "training.sequence", "2048 unless given"},
    {"bf16", one, taken, "training.precision", "bf16"},
    {"fp16", one, taken, "training.precision", "fp16"},
    {"pure_bf16", one, taken, "training.master_weights",
     "none, and moments and gradients bf16; counts without DeepSpeed and FSDP"},
    {"fp8", one, refused, "training.fp8_recipe", "FP8 of accelerate", false, "false"},
    {"deepspeed", one, taken, "parallel.zero", "the JSON, beside the file or --deepspeed"},
    {"fsdp", any, taken, "parallel.zero",
     "full_shard 3, shard_grad_op 2, hybrid_shard 3 in each node"},
    {"gradient_checkpointing", one, taken, "training.recompute",
     "full, as without; counts beside disable_gradient_checkpointing"},
    {"use_asft_loss", one, refused, "training", "a second model that runs forward", false, "false"},
    {"use_eaft_loss", one, unmodelled, "training.cross_entropy",
     "tokens weighed by the entropy of their logits", false, "false"},
    {"use_v1_kernels", one, refused, "runtime.kernels", "kernels chosen for the device at run time",
     false, "false"},
    {"train_from_scratch", one, unmodelled, "model", "weights at random", false, "false"},
    {"upcast_lmhead_output", one, unmodelled, "training.cross_entropy", "logits in FP32", false,
     "false"},
    {"disable_gradient_checkpointing", one, taken, "training.recompute", "none; absent: full"},
    {"flash_attn", one, taken, "training.attention", "disabled unfused, else fused"},
    {"optim", one, taken, "runtime.optimizer", "adamw_torch elementwise, with fused fused"},
    {"enable_liger_kernel", one, taken, "runtime.kernels",
     "norms, rotary positions, activations and the loss in one kernel each"},
    {"packing", one, taken, "schedule.data.documents", "full sequences"},
    {"neat_packing", one, refused, "schedule.data.mask",
     "samples that do not see each other, of a length that the file does not say", false, "false"},
    {"finetuning_type", one, taken, "training.adapters", "lora (also when absent), full"},
    {"lora_rank", one, taken, "training.adapters.rank", "8 unless given"},
    {"lora_target", any, taken, "training.adapters.targets", "all unless given"},
    {"lora_dropout", one, taken, "training.adapters.dropout", "above 0"},
    {"stage", one, refused, "training", "a training with more models than one", false, "pt|sft"},
    {"freeze_language_model", one, refused, "training.adapters", "a part that is not trained",
     false, "false"},
    {"use_dora", one, refused, "training.adapters", "magnitudes beside the adapters", false,
     "false"},
    {"additional_target", any, lacking, "training.adapters.trained", "modules trained whole"},
    {"resize_vocab", one, unmodelled, "model.vocabulary", "rows for new words", false, "false"},
    {"moe_aux_loss_coef", one, unmodelled, "moe.router.aux_loss", "the router's loss"},
    {"ddp_find_unused_parameters", one, unmodelled, "runtime.kernels",
     "a search of the graph for parameters without a gradient", false, "false"},
    {"use_unsloth_gc", one, taken, "training.offload.activations",
     "1: inputs of rebuilt layers wait on the host"},
    {"fsdp_config", any, refused, "parallel.zero", "a file of settings; say them by fsdp"},
    {"fsdp_config.fsdp_offload_params", one, refused, "training.offload", "parameters on the host",
     false, "false"},
    {"fsdp_config.fsdp_reshard_after_forward", one, taken, "parallel.zero", "false: 2"},
    {"fsdp_config.reshard_after_forward", one, taken, "parallel.zero", "false: 2"},
    {"fsdp_config.activation_checkpointing", one, taken, "training.recompute", "true: full"},
    {"fsdp_config.fsdp_activation_checkpointing", one, taken, "training.recompute", "true: full"},
    {"use_unsloth", one, refused, "runtime.kernels", "kernels of Unsloth", false, "false"},
    {"use_badam", one, refused, "runtime.optimizer", "an optimizer of blocks", false, "false"},
    {"use_galore", one, refused, "runtime.optimizer", "an optimizer of low rank", false, "false"},
    {"use_apollo", one, refused, "runtime.optimizer", "an optimizer of low rank", false, "false"},
    {"use_muon", one, refused, "runtime.optimizer", "Muon", false, "false"},
    {"use_adam_mini", one, refused, "runtime.optimizer", "Adam-mini", false, "false"},
    {"mixture_of_depths", one, refused, "model.layers", "layers that tokens pass over"},
    {"quantization_bit", one, taken, "training.adapters.frozen", "4: nf4"},
    {"shift_attn", one, refused, "model.attention.window", "shifted windows", false, "false"},
    {"sequence_parallel_size", one, taken, "parallel.cp", "", true},
};

constexpr IgnoredFlags llama_factory_ignored_table[] = {
    {"runs, logs, checkpoints, rates, data",
     "trust_remote_code do_train do_eval dataset dataset_dir template max_samples overwrite_cache "
     "preprocessing_num_workers dataloader_num_workers output_dir logging_steps save_steps "
     "plot_loss overwrite_output_dir save_only_model report_to learning_rate num_train_epochs "
     "lr_scheduler_type lr_scheduler_kwargs warmup_ratio:share warmup_steps ddp_timeout "
     "resume_from_checkpoint eval_dataset val_size per_device_eval_batch_size eval_strategy "
     "eval_steps max_grad_norm weight_decay adam_beta1 adam_beta2 seed:any run_name max_steps "
     "save_strategy save_total_limit image_max_pixels video_max_pixels video_maxlen video_fps "
     "freeze_vision_tower freeze_multi_modal_projector freeze_language_model tokenized_path "
     "streaming mix_strategy interleave_probs enable_thinking use_reentrant_gc "
     "gradient_checkpointing_kwargs ray_run_name ray_storage_path ray_num_workers "
     "resources_per_worker placement_strategy double_quantization quantization_method  "
     "lora_alpha   rope_scaling train_on_prompt mask_history "
     "tool_format default_system cache_dir logging_strategy logging_first_step log_level "
     "use_dft_loss split_special_tokens use_fast_tokenizer model_revision "
     "low_cpu_mem_usage new_special_tokens add_tokens add_special_tokens loraplus_lr_ratio "
     "use_rslora pissa_init pissa_iter create_new_adapter adapter_name_or_path "
     "dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor "
     "remove_unused_columns include_num_input_tokens_seen use_swanlab swanlab_project "
     "swanlab_run_name swanlab_mode adam_epsilon buffer_size ignore_pad_token_for_loss "
     "preprocessing_batch_size data_shared_file_system eval_on_each_dataset push_to_hub hub_token "
     "hf_hub_token predict_with_generate compute_accuracy upcast_layernorm print_param_status "
     "save_safetensors load_best_model_at_end metric_for_best_model greater_is_better tf32 "
     "disable_shuffling download_mode early_stopping_steps image_min_pixels video_min_pixels "
     "image_do_pan_and_scan crop_to_patches audio_sampling_rate use_audio_in_video media_dir "
     "include_effective_tokens_per_second loraplus_lr_embedding ms_hub_token om_hub_token "
     "preserve_thinking swanlab_api_key swanlab_logdir swanlab_workspace use_kv_cache "
     "new_special_tokens_config init_special_tokens skip_special_tokens lang "
     "fsdp_transformer_layer_cls_to_wrap"},
    {"counted with what is refused by itself: FP8, losses, optimizers, other adapters",
     "fp8_backend fp8_enable_fsdp_float8_all_gather asft_alpha eaft_alpha apollo_layerwise "
     "apollo_proj apollo_proj_type apollo_rank apollo_scale apollo_scale_front apollo_scale_type "
     "apollo_target apollo_update_interval badam_mask_mode badam_mode badam_start_block "
     "badam_switch_interval badam_switch_mode badam_update_ratio badam_verbose galore_layerwise "
     "galore_proj_type galore_rank galore_scale galore_target galore_update_interval "
     "freeze_extra_modules freeze_trainable_layers freeze_trainable_modules use_llama_pro "
     "oft_block_size oft_rank oft_target module_dropout:share pref_beta pref_ftx pref_loss "
     "simpo_gamma "
     "dpo_label_smoothing ref_model ref_model_adapters reward_model reward_model_adapters "
     "reward_model_type kto_chosen_weight kto_rejected_weight ppo_buffer_size ppo_epochs "
     "ppo_score_norm ppo_target ppo_whiten_rewards max_new_tokens top_k top_p temperature"},
};

constexpr Flag axolotl_table[] = {
    {"base_model", one, taken, "model", "a Hugging Face model"},
    {"micro_batch_size", one, taken, "training.micro_batch", "1 unless given"},
    {"gradient_accumulation_steps", one, taken, "training.global_batch", "micro x steps x DP"},
    {"sequence_len", one, taken, "training.sequence", "512 unless given"},
    {"bf16", one, taken, "training.precision", "true and auto: bf16"},
    {"bfloat16", one, taken, "training.precision", "as bf16"},
    {"fp16", one, taken, "training.precision", "fp16"},
    {"fp8", one, refused, "training.fp8_recipe", "FP8 of torchao", false, "false"},
    {"deepspeed", one, taken, "parallel.zero", "the JSON, beside the file or --deepspeed"},
    {"fsdp", any, taken, "parallel.zero",
     "full_shard 3, shard_grad_op 2, hybrid_shard 3 in each node"},
    {"fsdp_config.reshard_after_forward", one, taken, "parallel.zero", "false: 2"},
    {"fsdp_config.fsdp_reshard_after_forward", one, taken, "parallel.zero", "false: 2"},
    {"fsdp_config.fsdp_sharding_strategy", one, taken, "parallel.zero", "as fsdp"},
    {"fsdp_config.sharding_strategy", one, taken, "parallel.zero", "as fsdp"},
    {"quantize_moe_experts", one, refused, "training.adapters.frozen", "experts in four bits",
     false, "false"},
    {"lora_target_parameters", any, refused, "training.adapters.targets",
     "adapters of experts, which are not known"},
    {"use_scattermoe", one, refused, "moe.experts", "experts in one kernel", false, "false"},
    {"use_sonicmoe", one, refused, "moe.experts", "experts in one kernel", false, "false"},
    {"experts_implementation", one, refused, "moe.experts", "experts in kernels of its own", false,
     "eager"},
    {"model_quantization_config", any, refused, "training.adapters.frozen",
     "weights in another form of four bits"},
    {"expert_parallel_size", one, refused, "parallel.ep",
     "experts over ranks, without a plan of "
     "their sharding",
     false, "1"},
    {"dp_replicate_size", one, taken, "parallel.dp_replicate", "", true},
    {"dp_shard_size", one, taken, "parallel.dp_replicate", "DP over it"},
    {"num_labels", one, refused, "model.vocabulary", "another head"},
    {"use_eaft", one, unmodelled, "training.cross_entropy",
     "tokens weighed by the entropy of their logits", false, "false"},
    {"use_kernels", one, unmodelled, "runtime.kernels", "kernels that a service chooses", false,
     "false"},
    {"fused_attn_kernel", one, unmodelled, "runtime.kernels.rope",
     "norms and rotary positions of queries and keys in one kernel", false, "false"},
    {"flash_attn_cross_entropy", one, unmodelled, "training.cross_entropy", "a kernel of its own",
     false, "false"},
    {"flash_attn_rms_norm", one, unmodelled, "runtime.kernels.norm", "a kernel of its own", false,
     "false"},
    {"tiled_mlp", one, unmodelled, "training.recompute",
     "feed-forward parts in pieces: less memory", false, "false"},
    {"liger_rms_norm_gated", one, unmodelled, "runtime.kernels.norm",
     "norms of linear layers in one kernel", false, "false"},
    {"liger_cross_entropy", one, unmodelled, "training.cross_entropy", "the loss in one kernel",
     false, "false"},
    {"liger_swiglu", one, taken, "runtime.kernels.activation", "as liger_glu_activation"},
    {"eager_attention", one, taken, "training.attention", "eager unfused"},
    {"flex_attention", one, unmodelled, "training.attention",
     "a kernel that compiles its mask; as fused", false, "false"},
    {"resize_token_embeddings_to_32x", one, unmodelled, "model.vocabulary",
     "rows up to a multiple of 32", false, "false"},
    {"neftune_noise_alpha", one, unmodelled, "runtime.kernels", "noise on the embeddings"},
    {"freeze_mm_modules", one, unmodelled, "training.adapters",
     "parts beside the language model that are not trained", false, "false"},
    {"lisa_n_layers", one, refused, "training", "layers that are trained in turn"},
    {"peft.loftq_config.loftq_bits", one, refused, "training.adapters.frozen",
     "weights rounded for adapters", false, "0"},
    {"optim_target_modules", any, refused, "runtime.optimizer", "an optimizer of low rank"},
    {"fsdp_config.activation_checkpointing", one, taken, "training.recompute", "true: full"},
    {"fsdp_config.fsdp_activation_checkpointing", one, taken, "training.recompute", "true: full"},
    {"fsdp_config.mixed_precision_policy", one, taken, "training.precision", "bf16, fp16"},
    {"fsdp_config.fsdp_backward_prefetch", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered", false, "BACKWARD_PRE"},
    {"fsdp_config.fsdp_forward_prefetch", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered", false, "false"},
    {"overrides_of_model_config",
     any,
     refused,
     "model",
     "another model than its folder says",
     false,
     {},
     true},
    {"model_config", any, refused, "model", "another model than its folder says", false, {}, true},
    {"s2_attention", one, refused, "model.attention.window", "shifted windows", false, "false"},
    {"lora_mlp_kernel", one, unmodelled, "training.adapters", "adapters inside one kernel", false,
     "false"},
    {"lora_qkv_kernel", one, unmodelled, "training.adapters", "adapters inside one kernel", false,
     "false"},
    {"lora_o_kernel", one, unmodelled, "training.adapters", "adapters inside one kernel", false,
     "false"},
    {"liger_layer_norm", one, unmodelled, "runtime.kernels.norm", "norms with means in one kernel",
     false, "false"},
    {"cut_cross_entropy", one, unmodelled, "training.cross_entropy",
     "the loss in one kernel with its head: less memory", false, "false"},
    {"plugins", any, unmodelled, "runtime.kernels", "code that replaces kernels", false,
     "axolotl.integrations.liger.LigerPlugin"},
    {"ddp_find_unused_parameters", one, unmodelled, "runtime.kernels",
     "a search of the graph for parameters without a gradient", false, "false"},
    {"group_by_length", one, unmodelled, "schedule.data.documents", "samples of like lengths",
     false, "false"},
    {"peft_use_dora", one, refused, "training.adapters", "magnitudes beside the adapters", false,
     "false"},
    {"fsdp_config.offload_params", one, refused, "training.offload", "parameters on the host",
     false, "false"},
    {"fsdp_config.fsdp_offload_params", one, refused, "training.offload", "parameters on the host",
     false, "false"},
    {"gradient_checkpointing", one, taken, "training.recompute",
     "full; offload: training.offload.activations 1 as well"},
    {"activation_offloading", one, refused, "training.offload.activations",
     "a part that the file does not say", false, "false"},
    {"flash_attention", one, taken, "training.attention", "fused, as without"},
    {"attn_implementation", one, taken, "training.attention", "eager unfused, else fused"},
    {"sdp_attention", one, taken, "training.attention", "fused, as without"},
    {"optimizer", one, taken, "runtime.optimizer", "adamw_torch elementwise, with fused fused"},
    {"torch_compile", one, taken, "runtime.fusion", "pattern"},
    {"sample_packing", one, taken, "schedule.data.documents", "full sequences"},
    {"pad_to_sequence_len", one, taken, "schedule.data.documents", "full sequences"},
    {"liger_rms_norm", one, taken, "runtime.kernels.norm", "fused"},
    {"liger_rope", one, taken, "runtime.kernels.rope", "fused"},
    {"liger_glu_activation", one, taken, "runtime.kernels.activation", "fused"},
    {"liger_fused_linear_cross_entropy", one, unmodelled, "training.cross_entropy",
     "the loss in chunks with its head: less memory", false, "false"},
    {"adapter", one, taken, "training.adapters", "lora, qlora; absent: none"},
    {"lora_r", one, taken, "training.adapters.rank", "8 unless given"},
    {"lora_target_modules", any, taken, "training.adapters.targets", "all unless given"},
    {"lora_target_linear", one, taken, "training.adapters.targets", "true: all"},
    {"lora_dropout", one, taken, "training.adapters.dropout", "above 0"},
    {"lora_modules_to_save", any, lacking, "training.adapters.trained", "modules trained whole"},
    {"unfrozen_parameters", any, refused, "training", "a part of the parameters"},
    {"rl", one, refused, "training", "a training with more models than one"},
    {"context_parallel_size", one, taken, "parallel.cp", "", true},
    {"sequence_parallel_degree", one, taken, "parallel.cp", "as context_parallel_size"},
    {"tensor_parallel_size", one, taken, "parallel.tp", "", true},
    {"load_in_8bit", one, refused, "training.adapters.frozen",
     "products of bytes (LLM.int8()); int8 is of weights alone", false, "false"},
    {"load_in_4bit", one, taken, "training.adapters.frozen", "nf4"},
};

constexpr IgnoredFlags axolotl_ignored_table[] = {
    {"runs, logs, checkpoints, rates, data",
     "output_dir learning_rate lr_scheduler datasets logging_steps num_epochs tf32 "
     "warmup_ratio:share "
     "warmup_steps saves_per_epoch val_set_size weight_decay wandb_name wandb_watch wandb_project "
     "wandb_log_model wandb_entity wandb_run_id evals_per_epoch dataset_prepared_path "
     "special_tokens resume_from_checkpoint chat_template tokenizer_type model_type "
     "trust_remote_code strict eval_sample_packing remove_unused_columns eot_tokens "
     "skip_prepare_dataset processor_type fsdp_version max_steps save_steps "
     "fsdp_config.auto_wrap_policy fsdp_config.fsdp_auto_wrap_policy "
     "fsdp_config.transformer_layer_cls_to_wrap fsdp_config.fsdp_transformer_layer_cls_to_wrap "
     "fsdp_config.cpu_ram_efficient_loading fsdp_config.fsdp_cpu_ram_efficient_loading "
     "fsdp_config.state_dict_type fsdp_config.fsdp_state_dict_type "
     "fsdp_config.final_state_dict_type fsdp_config.fsdp_version "
     "fsdp_config.sync_module_states fsdp_config.fsdp_sync_module_states "
     "fsdp_config.use_orig_params fsdp_config.fsdp_use_orig_params "
     "fsdp_config.limit_all_gathers fsdp_config.fsdp_limit_all_gathers "
     "loss_watchdog_threshold loss_watchdog_patience seed:any tokenizer_use_mistral_common "
     "adam_beta1 adam_beta2 adam_epsilon max_grad_norm train_on_inputs "
     "save_total_limit gradient_checkpointing_kwargs save_strategy  "
     "lora_alpha lora_model_dir lora_fan_in_fan_out peft_use_rslora lr_quadratic_warmup "
     "early_stopping_patience test_datasets tokens hub_model_id "
     "pretraining_dataset local_rank debug tokenizer_config eval_batch_size "
     "eval_steps is_llama_derived_model save_safetensors cosine_min_lr_ratio dataset_processes "
     "dataloader_num_workers shuffle_merged_datasets save_only_model "
     "ddp_timeout xformers_attention lr_scheduler_kwargs cosine_constant_lr_ratio eta_min "
     "streaming streaming_multipack_buffer_size low_cpu_mem_usage auto_resume_from_checkpoints "
     "tokenizer_use_fast tokenizer_legacy hf_use_auth_token adam_eps revision_of_model "
     "use_tensorboard use_wandb use_mlflow use_comet use_swanlab swanlab_project "
     "swanlab_experiment_name swanlab_description swanlab_mode swanlab_workspace "
     "swanlab_log_model swanlab_log_completions swanlab_completion_log_interval "
     "swanlab_completion_max_buffer use_otel_metrics otel_metrics_host otel_metrics_port use_ray "
     "ray_num_workers ray_run_name resources_per_worker evaluation_strategy eval_strategy "
     "eval_table_size eval_max_new_tokens eval_causal_lm_metrics do_causal_lm_eval "
     "eval_sequence_len dataset_exact_deduplication min_sample_len excess_length_strategy "
     "sample_packing_sequentially sample_packing_group_size sample_packing_bin_size "
     "curriculum_sampling test_value device_map gpu_memory_limit base_model_config "
     "is_falcon_derived_model is_mistral_derived_model is_qwen_derived_model "
     "bnb_config_kwargs.bnb_4bit_use_double_quant experimental_skip_move_to_device "
     "pretraining_sample_concatenation preprocess_iterable dataset_num_proc "
     "dataset_keep_in_memory dataloader_pin_memory dataloader_prefetch_factor "
     "dataloader_drop_last load_best_model_at_end metric_for_best_model greater_is_better "
     "mlflow_tracking_uri mlflow_experiment_name mlflow_run_name wandb_mode hub_strategy "
     "chat_template_jinja default_system_message roles_to_train train_on_eos profiler_steps "
     "profiler_steps_start include_tkps include_tokens_per_second loraplus_lr_ratio "
     "loraplus_lr_embedding embedding_lr embedding_lr_scale lr_groups image_size "
     "image_resize_algorithm"},
    {"counted with what is refused or said by itself",
     "eaft_alpha eaft_k lisa_step_interval lisa_layers_attribute tiled_mlp_num_shards "
     "tiled_mlp_use_original_mlp flex_attn_compile_kwargs.dynamic flex_attn_compile_kwargs.mode "
     "model_quantization_config_kwargs.dequantize fp8_enable_fsdp_float8_all_gather orpo_alpha "
     "rl_beta kto_desirable_weight kto_undesirable_weight dpo_use_weighting torch_compile_mode "
     "torch_compile_backend dpo_beta"},
};

constexpr Flag ms_swift_table[] = {
    {"--model", one, taken, "model", "a Hugging Face model"},
    {"--tuner_type", one, taken, "training.adapters", "lora (also when absent), full"},
    {"--train_type", one, taken, "training.adapters", "as --tuner_type"},
    {"--lora_rank", one, taken, "training.adapters.rank", "8 unless given"},
    {"--target_modules", any, taken, "training.adapters.targets", "all unless given"},
    {"--lora_dropout", one, taken, "training.adapters.dropout", "above 0; 0.05 unless given"},
    {"--per_device_train_batch_size", one, taken, "training.micro_batch", "1 unless given"},
    {"--gradient_accumulation_steps", one, taken, "training.global_batch", "micro x steps x DP"},
    {"--max_length", one, taken, "training.sequence", ""},
    {"--torch_dtype", one, taken, "training.precision", "bfloat16, float16"},
    {"--bf16", any, taken, "training.precision", "bf16"},
    {"--fp16", any, taken, "training.precision", "fp16"},
    {"--deepspeed", one, taken, "parallel.zero", "zero0 to zero3, or a JSON"},
    {"--fsdp", any, taken, "parallel.zero", "fsdp2: 3"},
    {"--gradient_checkpointing", any, taken, "training.recompute", "full unless false"},
    {"--attn_impl", one, taken, "training.attention", "eager unfused, else fused"},
    {"--optim", one, taken, "runtime.optimizer", "adamw_torch elementwise, with fused fused"},
    {"--use_liger_kernel", any, taken, "runtime.kernels",
     "norms, rotary positions, activations and the loss in one kernel each"},
    {"--packing", any, taken, "schedule.data.documents", "full sequences"},
    {"--padding_free", any, unmodelled, "schedule.data.documents", "samples without padding", false,
     "false"},
    {"--sequence_parallel_size", one, taken, "parallel.cp", "", true},
    {"--freeze_llm", any, refused, "training.adapters", "a part that is not trained", false,
     "false"},
    {"--task_type", one, refused, "model.vocabulary", "another head", false, "causal_lm"},
    {"--modules_to_save", any, lacking, "training.adapters.trained", "modules trained whole"},
    {"--use_dora", one, refused, "training.adapters", "magnitudes beside the adapters", false,
     "false"},
    {"--router_aux_loss_coef", one, unmodelled, "moe.router.aux_loss", "the router's loss", false,
     "0"},
    {"--experts_impl", one, refused, "moe.experts", "experts in kernels of its own", false,
     "eager"},
    {"--tuner_backend", one, refused, "training.adapters", "kernels of Unsloth", false, "peft"},
    {"--loss_type", one, refused, "training.cross_entropy", "another loss", false, "cross_entropy"},
    {"--use_galore", any, refused, "runtime.optimizer", "an optimizer of low rank", false, "false"},
    {"--optimizer", one, refused, "runtime.optimizer", "an optimizer of its own"},
    {"--neftune_noise_alpha", one, unmodelled, "runtime.kernels", "noise on the embeddings"},
    {"--group_by_length", any, unmodelled, "schedule.data.documents", "samples of like lengths",
     false, "false"},
    {"--use_logits_to_keep", any, unmodelled, "training.cross_entropy",
     "logits of the answers alone: less at the head", false, "false"},
    {"--freeze_parameters_ratio", one, refused, "training.adapters", "a part that is not trained",
     false, "0"},
    {"--target_regex", one, refused, "training.adapters.targets", "modules by a pattern"},
    {"--target_parameters", any, refused, "training.adapters.targets",
     "adapters of experts, which are not known"},
    {"--ddp_find_unused_parameters", any, unmodelled, "runtime.kernels",
     "a search of the graph for parameters without a gradient", false, "false"},
    {"--quant_bits", one, taken, "training.adapters.frozen", "4: nf4"},
    {"--quant_method", one, refused, "training.adapters.frozen", "another form of four bits", false,
     "bnb"},
};

constexpr IgnoredFlags ms_swift_ignored_table[] = {
    {"runs, logs, checkpoints, rates, data",
     "dataset val_dataset learning_rate logging_steps save_steps save_total_limit "
     "num_train_epochs eval_steps dataloader_num_workers warmup_ratio:share output_dir "
     "per_device_eval_batch_size load_from_cache_file split_dataset_ratio dataset_num_proc "
     "model_name model_author system save_only_model freeze_vit freeze_aligner "
     "eval_strategy external_plugins dataloader_drop_last report_to "
     "use_chat_template label_names to_cached_dataset cached_dataset cached_val_dataset "
     "save_strategy enable_thinking truncation_strategy max_steps loss_scale streaming "
     "gradient_checkpointing_kwargs agent_template template lr_scheduler_type weight_decay "
     "adam_beta2 seed:any max_grad_norm  lora_alpha  model_type max_pixels "
     "use_hf attn_implementation resume_from_checkpoint ddp_timeout aligner_lr vit_lr "
     "load_args load_data_args create_checkpoint_symlink strict dataset_shuffle "
     "vit_gradient_checkpointing lazy_tokenize metric_for_best_model greater_is_better "
     "early_stop_interval shuffle_buffer_size max_epochs predict_with_generate rope_scaling "
     "max_model_len new_special_tokens response_prefix add_non_thinking_prefix "
     "eval_use_evalscope eval_dataset eval_dataset_args eval_limit eval_generation_config "
     "bnb_4bit_compute_dtype bnb_4bit_quant_type bnb_4bit_use_double_quant enable_dft_loss "
     "init_weights use_rslora lora_bias lorap_lr_ratio packing_length packing_num_proc "
     "packing_strategy interleave_prob stopping_strategy val_dataset_shuffle "
     "custom_register_path custom_dataset_info data_seed:any adam_beta1 adam_epsilon run_name "
     "add_version check_model push_to_hub hub_model_id hub_token hub_private_repo "
     "remove_unused_columns download_mode columns preserve_thinking padding_side "
     "dataloader_pin_memory dataloader_persistent_workers dataloader_prefetch_factor "
     "log_interval swanlab_project swanlab_mode swanlab_exp_name save_safetensors "
     "ignore_args_error merge_lora tf32 lr_scheduler_kwargs"},
    {"counted with what is refused by itself",
     "problem_type num_labels optim_args galore_quantization galore_optim_per_parameter "
     "lora_ga_batch_size lora_ga_iters lora_ga_max_length lora_ga_direction lora_ga_scale "
     "lora_ga_stable_gamma llamapro_num_new_blocks lisa_activated_layers reft_intervention_type"},
};

}  // namespace

std::span<const Flag> trainer_flags() { return trainer_table; }
std::span<const IgnoredFlags> trainer_ignored() { return trainer_ignored_table; }
std::span<const Flag> llama_factory_flags() { return llama_factory_table; }
std::span<const IgnoredFlags> llama_factory_ignored() { return llama_factory_ignored_table; }
std::span<const Flag> axolotl_flags() { return axolotl_table; }
std::span<const IgnoredFlags> axolotl_ignored() { return axolotl_ignored_table; }
std::span<const Flag> ms_swift_flags() { return ms_swift_table; }
std::span<const IgnoredFlags> ms_swift_ignored() { return ms_swift_ignored_table; }

}  // namespace stepcast::launch
