#include "flags.hpp"

// DeepSpeed's JSON, and the flags that Megatron-DeepSpeed has besides those of Megatron-LM.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag deepspeed_table[] = {
    {"train_batch_size", one, taken, "training.global_batch",
     "micro x accumulation x DP; two of the three are enough, of one alone the accumulation is 1"},
    {"train_micro_batch_size_per_gpu", one, taken, "training.micro_batch", "", true},
    {"gradient_accumulation_steps", one, taken, "training.global_batch", "micro x steps x DP"},
    {"zero_optimization.stage", one, taken, "parallel.zero", "0 unless given"},
    {"zero_optimization.overlap_comm", one, taken, "communication.gradient.overlap",
     "true at stage 3, else false"},
    {"zero_optimization.reduce_bucket_size", one, taken, "communication.gradient.bucket",
     "5e8 elements unless given; auto: the square of the hidden size"},
    {"zero_optimization.allgather_bucket_size", one, unmodelled, "communication.gradient.bucket",
     "one key has this and reduce_bucket_size"},
    {"zero_optimization.reduce_scatter", one, refused, "communication.algorithm.reduce_scatter",
     "gradients of which all ranks get the whole", false, "true"},
    {"zero_optimization.offload_optimizer.device", one, refused, "training.offload.optimizer",
     "an update on the processor of the host", false, "none"},
    {"zero_optimization.offload_param.device", one, refused, "training.offload",
     "parameters on the host", false, "none"},
    {"zero_optimization.zero_hpz_partition_size", one, taken, "parallel.hpz", "counts at stage 3"},
    {"zero_optimization.mics_shard_size", one, refused, "parallel.dp_replicate",
     "gradients that cross the groups once per step alone", false, "-1"},
    {"zero_optimization.zero_quantized_weights", one, refused, "communication.parameter.precision",
     "gathers of integers in blocks", false, "false"},
    {"zero_optimization.zero_quantized_gradients", one, refused, "communication.gradient.precision",
     "reductions of half a byte", false, "false"},
    {"zero_optimization.stage3_prefetch_bucket_size", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered"},
    {"zero_optimization.prefetch_bucket_size", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered"},
    {"zero_optimization.stage3_param_persistence_threshold", one, unmodelled, "parallel.zero",
     "small parameters that stay whole"},
    {"zero_optimization.stage3_max_live_parameters", one, unmodelled, "parallel.zero",
     "how many gathered parameters are held"},
    {"zero_optimization.stage3_max_reuse_distance", one, unmodelled, "parallel.zero",
     "how long gathered parameters are held"},
    {"zero_optimization.param_persistence_threshold", one, unmodelled, "parallel.zero",
     "as stage3_param_persistence_threshold"},
    {"zero_optimization.max_live_parameters", one, unmodelled, "parallel.zero",
     "as stage3_max_live_parameters"},
    {"zero_optimization.max_reuse_distance", one, unmodelled, "parallel.zero",
     "as stage3_max_reuse_distance"},
    {"bf16.enabled", one, taken, "training.precision", "true: bf16"},
    {"bfloat16.enabled", one, taken, "training.precision", "as bf16.enabled"},
    {"fp16.enabled", one, taken, "training.precision", "true: fp16"},
    {"curriculum_learning.enabled", one, refused, "training.sequence",
     "a length that grows during training", false, "false"},
    {"data_efficiency.enabled", one, refused, "training.sequence", "tokens that are left out",
     false, "false"},
    {"compile.deepcompile", one, unmodelled, "runtime.fusion", "graphs that are compiled", false,
     "false"},
    {"disable_allgather", one, unmodelled, "communication.algorithm", "broadcasts for a gather",
     false, "false"},
    {"zero_optimization.allgather_partitions", one, unmodelled, "communication.algorithm",
     "broadcasts for a gather", false, "true"},
    {"seq_parallel_communication_data_type", one, unmodelled, "parallel.context_algorithm",
     "exchanges of sequences in another type"},
    {"communication_data_type", one, taken, "communication.gradient.precision",
     "that of the parameters unless given"},
    {"data_types.grad_accum_dtype", one, unmodelled, "communication.gradient.kept",
     "sums of gradients of another type than those that travel"},
    {"activation_checkpointing.partition_activations", one, refused, "training.recompute",
     "inputs of layers in parts over the tensor ranks", false, "false"},
    {"activation_checkpointing.cpu_checkpointing", one, taken, "training.offload.activations",
     "true: 1"},
    {"bf16.bf16_master_weights_and_grads", one, refused, "training.master_weights",
     "weights, gradients and states in BF16 alone", false, "false"},
    {"bf16.bf16_optimizer_states", one, refused, "training.first_moment", "moments of Adam in BF16",
     false, "false"},
    {"fp16.fp16_master_weights_and_grads", one, refused, "training.master_weights",
     "weights, gradients and states in FP16 alone", false, "false"},
    {"autotuning.enabled", one, refused, "training.micro_batch", "sizes that are tried in turn",
     false, "false"},
    {"optimizer.params.torch_adam", one, taken, "runtime.optimizer",
     "true: elementwise, PyTorch's own"},
    {"optimizer.type", one, taken, "runtime.optimizer",
     "Adam, AdamW, FusedAdam: fused; others are refused"},
    {"tensor_parallel.autotp_size", one, taken, "parallel.tp", "0 and 1: none"},
    {"amp.enabled", one, refused, "training.precision", "mixed precision of Apex", false, "false"},
    {"elasticity.enabled", one, refused, "training.global_batch",
     "a batch that is chosen while it runs", false, "false"},
    {"compression_training", any, refused, "training.precision", "compressed layers"},
    {"progressive_layer_drop.enabled", one, refused, "model.layers", "layers that are left out",
     false, "false"},
    {"sparse_attention.mode", one, refused, "model.attention.window", "patterns of blocks"},
    {"sparse_gradients", one, refused, "communication.gradient.precision",
     "gradients of some rows of the embedding", false, "false"},
};

constexpr IgnoredFlags deepspeed_ignored_table[] = {
    {"the optimizer's own numbers, learning rate, scaling of the loss",
     "optimizer scheduler gradient_clipping bf16 bfloat16 fp16 prescale_gradients "
     "gradient_predivide_factor zero_allow_untested_optimizer zero_force_ds_cpu_optimizer "
     ""},
    {"logs, profiles, checkpoints, data",
     "steps_per_print wall_clock_breakdown dump_state tensorboard wandb csv_monitor comet "
     "flops_profiler comms_logger memory_breakdown checkpoint nebula data_types "
     "dataloader_drop_last "
     "data_efficiency curriculum_learning autotuning aio  compile "
     "monitor_config seed:any"},
    {"how buffers are laid out and states are kept",
     "zero_optimization.contiguous_gradients zero_optimization.round_robin_gradients "
     "zero_optimization.sub_group_size zero_optimization.load_from_fp32_weights "
     "zero_optimization.elastic_checkpoint zero_optimization.ignore_unused_parameters "
     "zero_optimization.stage3_gather_16bit_weights_on_model_save "
     "zero_optimization.gather_16bit_weights_on_model_save "
     "zero_optimization.stage3_gather_fp16_weights_on_model_save "
     " zero_optimization.memory_efficient_linear "
     "zero_optimization.offload_optimizer zero_optimization.offload_param "
     "zero_optimization.cpu_offload_use_pin_memory zero_optimization.log_trace_cache_warnings "
     "activation_checkpointing tensor_parallel amp elasticity progressive_layer_drop"},
};

constexpr Flag megatron_deepspeed_table[] = {
    {"--deepspeed", any, taken, "parallel.zero", "the JSON may be its word"},
    {"--deepspeed_config", one, taken, "parallel.zero",
     "the JSON, beside the script or written by it"},
    {"--deepspeed-config", one, taken, "parallel.zero", "as --deepspeed_config"},
    {"--zero-stage", one, taken, "parallel.zero", "must be that of the JSON"},
    {"--pp-partition-method", one, taken, "parallel.layers_per_chunk",
     "type:transformer even; type:transformer|embedding: embedding and head are layers of the cut"},
    {"--no-pipeline-parallel", none, taken, "parallel.pp", "one stage, and sharding goes to 3"},
    {"--ds-sequence-parallel-size", one, taken, "parallel.cp",
     "with parallel.context_algorithm ulysses"},
    {"--moe-expert-parallel-size", one, taken, "parallel.ep", "1 unless given"},
    {"--enable-expert-tensor-parallelism", none, taken, "parallel.etp", "that of the dense layers"},
    {"--num-experts", any, taken, "model.moe.experts", "one number; 1: no experts"},
    {"--expert-interval", one, taken, "model.moe.period", "every n-th layer, 2 unless given"},
    {"--topk", one, taken, "model.moe.top_k", "1 unless given"},
    {"--moe-train-capacity-factor", one, taken, "moe.capacity_factor", "1.0 unless given"},
    {"--disable-moe-token-dropping", none, taken, "moe.capacity_factor", "none"},
    {"--num-key-value-heads", one, taken, "model.attention.kv_heads",
     "those of the queries unless given"},
    {"--deepspeed-activation-checkpointing", none, taken, "training.offload.activations",
     "counts with --checkpoint-in-cpu alone: whose rebuild it is"},
    {"--checkpoint-activations", none, taken, "training.recompute", "full"},
    {"--checkpoint-num-layers", one, taken, "training.recompute", "1 unless given"},
    {"--use-flash-attn-v1", none, taken, "training.attention", "fused"},
    {"--use-flash-attn-v2", none, taken, "training.attention", "fused"},
    {"--use-flash-attn-triton", none, taken, "training.attention", "flash_triton"},
    {"--use-flash-attn-builder", none, taken, "training.attention", "fused"},
    {"--kd", none, refused, "training", "a training with more models than one"},
    {"--data-efficiency-curriculum-learning", none, refused, "training.sequence",
     "a length that grows during training"},
    {"--synchronize-each-layer", none, unmodelled, "runtime.dispatch", "waits at every layer"},
    {"--mlp-type", one, refused, "model.moe.shared_experts", "an MLP beside the experts", false,
     "standard"},
    {"--cpu-optimizer", none, refused, "training.offload.optimizer",
     "an update on the processor of the host"},
    {"--remote-device", one, refused, "training.offload", "parameters on the host", false, "none"},
    {"--checkpoint-in-cpu", none, taken, "training.offload.activations",
     "1; counts with --deepspeed-activation-checkpointing"},
    {"--partition-activations", none, refused, "training.recompute",
     "inputs of layers in parts over the tensor ranks"},
    {"--use-tutel", none, unmodelled, "moe.permutation", "kernels of Tutel"},
    {"--random-ltd", none, refused, "training.sequence", "tokens that are left out"},
    {"--curriculum-learning-legacy", none, refused, "training.sequence",
     "a length that grows during training"},
};

constexpr IgnoredFlags megatron_deepspeed_ignored_table[] = {
    {"the router's losses, checks and evaluation",
     "moe-eval-capacity-factor moe-min-capacity moe-loss-coeff create-moe-param-group inference "
     "ds-inference ds-pipeline-enabled"},
    {"checkpoints, data, the launcher",
     "universal-checkpoint contigious-checkpointing profile-backward "
     "return-data-index train-idx-path hidden-size-teacher num-layers-teacher load-teacher "
     "zero-contigious-gradients zero-reduce-bucket-size "
     "zero-allgather-bucket-size zero-reduce-scatter deepscale deepscale_config deepspeed_mpi "
     "tokenizer-kwargs aml-data-download-path custom-token-counting reset-iteration "
     "load-tag ds_fused_adam force-ds-sequence-parallel"},
};

}  // namespace

std::span<const Flag> deepspeed_flags() { return deepspeed_table; }
std::span<const IgnoredFlags> deepspeed_ignored() { return deepspeed_ignored_table; }
std::span<const Flag> megatron_deepspeed_flags() { return megatron_deepspeed_table; }
std::span<const IgnoredFlags> megatron_deepspeed_ignored() {
  return megatron_deepspeed_ignored_table;
}

}  // namespace stepcast::launch
