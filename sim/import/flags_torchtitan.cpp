#include "flags.hpp"

// torchtitan v0.1 to v0.2.2, config/job_config.py; from 2026 its configurations are Python.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag torchtitan_table[] = {
    {"model.name", one, taken, "model",
     "with the flavor: the dimensions that the framework has under these names"},
    {"model.flavor", one, taken, "model", "see model.name"},
    {"model.converters", any, taken, "training.precision", "float8 or mx: fp8_mixed"},
    {"float8.recipe_name", one, taken, "training.fp8_recipe",
     "tensorwise (also when absent), rowwise; counts with the converter float8"},
    {"quantize.linear.float8.recipe_name", one, taken, "training.fp8_recipe",
     "as float8.recipe_name"},
    {"mx.recipe_name", one, taken, "training.fp8_recipe",
     "mxfp8, mxfp8_cublas (also when absent): mxfp8; counts with the converter mx"},
    {"quantize.linear.mx.recipe_name", one, taken, "training.fp8_recipe", "as mx.recipe_name"},
    {"training.local_batch_size", one, taken, "training.micro_batch",
     "sequences of a data rank per accumulation step; with stages those are cut into "
     "micro-batches"},
    {"training.batch_size", one, taken, "training.micro_batch", "as local_batch_size"},
    {"training.global_batch_size", one, taken, "training.global_batch",
     "-1 or absent: no accumulation"},
    {"training.num_tokens_per_microbatch_per_dp_rank", one, taken, "training.micro_batch",
     "in Python: tokens of a forward, over the length"},
    {"training.num_tokens_per_train_step", one, taken, "training.global_batch",
     "in Python: over the length; -1 or absent: no accumulation"},
    {"training.disable_cuda_graphs", one, unmodelled, "runtime.dispatch",
     "statements are launched one by one", false, "true|false"},
    {"parallelism.num_pp_microbatches", one, taken, "training.global_batch",
     "in Python: micro-batches of an accumulation; counts with stages"},
    {"parallelism.enable_sequence_parallel", one, refused, "parallel.sequence_parallel",
     "tensor parallelism without it", false, "true"},
    {"parallelism.module_fqns_per_model_part", any, refused, "parallel.layers_per_chunk",
     "modules of each chunk; give the layers as a table", false, "[]"},
    {"parallelism.pipeline_parallel_schedule_csv", one, refused, "schedule.pipeline",
     "a schedule of a file; give {table: FILE}", false, ""},
    {"parallelism.enable_fsdp_symm_mem", one, unmodelled, "communication.algorithm",
     "collectives on symmetric memory", false, "false"},
    {"training.dtype", one, refused, "training.master_weights",
     "parameters, gradients and states in BF16", false, "float32"},
    {"training.seq_len", one, taken, "training.sequence",
     "2048 unless given; in Python "
     "training.max_context_length"},
    {"training.mixed_precision_param", one, taken, "training.precision", "bfloat16"},
    {"training.mixed_precision_reduce", one, taken, "communication.gradient.precision",
     "float32, bfloat16"},
    {"training.compile", one, taken, "runtime.fusion", "pattern"},
    {"compile.enable", one, taken, "runtime.fusion", "pattern"},
    {"compile.components", any, taken, "training.cross_entropy", "with loss: fused"},
    {"parallelism.data_parallel_shard_degree", one, taken, "parallel.zero",
     "3 where it is above 1, after context parallelism; -1: the rest"},
    {"parallelism.data_parallel_replicate_degree", one, taken, "parallel.dp_replicate",
     "beside sharding; without it all data ranks are replicas"},
    {"parallelism.fsdp_reshard_after_forward", one, taken, "parallel.zero",
     "never 2, always 3, default 3 without stages and 2 with them"},
    {"parallelism.tensor_parallel_degree", one, taken, "parallel.tp", "with sequence parallelism"},
    {"parallelism.enable_async_tensor_parallel", one, taken, "communication.tensor.overlap",
     "chunks(TP)"},
    {"parallelism.pipeline_parallel_degree", one, taken, "parallel.pp", "", true},
    {"parallelism.pipeline_parallel_schedule", one, taken, "schedule.pipeline",
     "GPipe, 1F1B, Interleaved1F1B, ZBVZeroBubble, DualPipeV"},
    {"parallelism.pipeline_parallel_layers_per_stage", one, taken, "parallel.vpp",
     "chunks of so many layers, the first and last of one less"},
    {"parallelism.pipeline_parallel_first_stage_less_layers", one, taken,
     "parallel.layers_per_chunk", "1 unless given"},
    {"parallelism.pipeline_parallel_last_stage_less_layers", one, taken,
     "parallel.layers_per_chunk", "1 unless given"},
    {"parallelism.pipeline_parallel_microbatch_size", one, taken, "training.micro_batch",
     "1 unless given"},
    {"parallelism.context_parallel_degree", one, taken, "parallel.cp", "", true},
    {"parallelism.context_parallel_rotate_method", one, taken, "parallel.context_algorithm",
     "allgather, alltoall ring"},
    {"parallelism.expert_parallel_degree", one, taken, "parallel.ep", "", true},
    {"parallelism.expert_tensor_parallel_degree", one, taken, "parallel.etp", "1 unless given"},
    {"parallelism.expert_parallel_comm_backend", one, taken, "moe.dispatch",
     "standard flat, deepep two_hop_dedup"},
    {"activation_checkpoint.mode", one, taken, "training.recompute", "none, full, selective"},
    {"activation_checkpoint.selective_ac_option", one, taken, "training.recompute",
     "n: every n-th layer; op has no key"},
    {"optimizer.implementation", one, taken, "runtime.optimizer", "fused, else elementwise"},
    {"training.enable_cpu_offload", one, refused, "training.offload.optimizer",
     "parameters on the host, too", false, "false"},
    {"float8.enable_fsdp_float8_all_gather", one, taken, "communication.parameter.precision",
     "fp8; counts with the converter float8, recipe tensorwise, and sharding"},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", one, taken,
     "communication.parameter.precision", "as float8.enable_fsdp_float8_all_gather"},
    {"activation_checkpoint.memory_budget", one, unmodelled, "training.recompute",
     "counts only with mode memory_budget"},
    {"model.norm_type", one, refused, "model.norm", "another norm", false, "rmsnorm"},
    {"parallelism.disable_loss_parallel", one, unmodelled, "training.cross_entropy",
     "the loss of all columns on every tensor rank", false, "false"},
    {"parallelism.enable_compiled_autograd", one, unmodelled, "runtime.fusion",
     "a backward that is compiled as a whole", false, "false"},
    {"float8.filter_fqns", any, unmodelled, "training.precision", "products that stay in BF16"},
    {"quantize.linear.float8.filter_fqns", any, unmodelled, "training.precision",
     "products that stay in BF16"},
    {"mx.filter_fqns", any, unmodelled, "training.precision", "products that stay in BF16"},
    {"quantize.linear.mx.filter_fqns", any, unmodelled, "training.precision",
     "products that stay in BF16"},
    {"float8.emulate", one, refused, "training.precision", "FP8 by products in BF16", false,
     "false"},
    {"optimizer.early_step_in_backward", one, unmodelled, "runtime.update",
     "updates beside the backward", false, "false"},
    {"fault_tolerance.enable", one, unmodelled, "parallel.dp_replicate",
     "replicas that exchange now and then", false, "false"},
    {"activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", any, unmodelled,
     "training.recompute", "products that are rebuilt with selective op alone"},
    {"optimizer.name", one, lacking, "training.optimizer", "optimizers other than Adam", false,
     "AdamW"},
};

constexpr IgnoredFlags torchtitan_ignored_table[] = {
    {"job, logs, profiles, checkpoints",
     "job profiling metrics checkpoint comm validation experimental fault_tolerance "
     "memory_estimation debug profiler validator dataloader tokenizer dump_folder hf_assets_path "
     "override"},
    {"optimizer and learning rate", "optimizer lr_scheduler"},
    {"data and length of the training",
     "training.dataset training.dataset_path training.steps training.max_norm training.seed "
     "training.deterministic training.gc_freq training.gc_debug training.dataloader "
     "training.debug_moe_force_load_balance "
     "model.hf_assets_path model.tokenizer_path model.print_after_conversion "},
    {"how kernels are found",
     "compile.backend float8 quantize activation_checkpoint mx  "
     " parallelism.spmd_backend "
     "parallelism.context_parallel_load_balancer parallelism.context_parallel_ptrr_mask_key"},
};

}  // namespace

std::span<const Flag> torchtitan_flags() { return torchtitan_table; }
std::span<const IgnoredFlags> torchtitan_ignored() { return torchtitan_ignored_table; }

}  // namespace stepcast::launch
