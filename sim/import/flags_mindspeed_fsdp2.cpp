#include "flags.hpp"

// MindSpeed-LLM's FSDP2 trainer: fsdp2/utils/arguments.py of c77308a14bfc.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag mindspeed_fsdp2_table[] = {
    {"model.model_name_or_path", one, taken, "model", "the folder of a Hugging Face model"},
    {"data.cutoff_len", one, taken, "training.sequence", "2048 unless given"},
    {"data.reset_attention_mask", one, refused, "schedule.data.mask",
     "documents that do not see each other, of a length that the file does not say", false,
     "False"},
    {"data.packing", one, unmodelled, "schedule.data.documents", "samples put into one sequence",
     false, "False"},
    {"data.neat_packing", one, refused, "schedule.data.mask",
     "samples that do not see each other, of a length that the file does not say", false, "False"},
    {"parallel.fsdp_size", one, taken, "parallel.zero",
     "3; the ranks of sharding, context parallelism included"},
    {"parallel.tp_size", one, taken, "parallel.tp", "", true},
    {"parallel.cp_size", one, taken, "parallel.cp", "", true},
    {"parallel.cp_type", one, taken, "parallel.context_algorithm",
     "ulysses (also when absent), ring, kvallgather allgather"},
    {"parallel.ep_size", one, taken, "parallel.ep", "", true},
    {"parallel.ep_fsdp_size", one, taken, "parallel.ep", "the rest of the ranks"},
    {"parallel.ep_dispatcher", one, taken, "moe.experts",
     "eager: one by one unless optimization.moe_grouped_gemm; fused: grouped"},
    {"parallel.recompute", one, taken, "training.recompute", "full"},
    {"parallel.recompute_modules", any, refused, "training.recompute", "other modules than layers",
     false, "model.layers.{*}"},
    {"parallel.reshard_after_forward", one, taken, "parallel.zero", "false: 2"},
    {"parallel.reduce_dtype", one, taken, "communication.gradient.precision",
     "fp32 unless given, bf16"},
    {"parallel.param_dtype", one, refused, "training.precision", "parameters of another type",
     false, "bf16"},
    {"parallel.enable_chunk_batch", one, refused, "training.micro_batch",
     "one gather for several micro-batches", false, "False"},
    {"training.per_device_train_batch_size", one, taken, "training.micro_batch", "8 unless given"},
    {"training.gradient_accumulation_steps", one, taken, "training.global_batch",
     "micro x steps x DP"},
    {"training.optimizer", one, lacking, "training.optimizer", "optimizers other than Adam", false,
     "adamw|fused_adamw"},
    {"training.deterministic", one, unmodelled, "runtime.kernels",
     "kernels that give the same bits every time", false, "False"},
    {"training.router_aux_loss_coef", one, taken, "moe.router.aux_loss", "true unless 0"},
    {"model.quant_recipe_name", one, refused, "training.fp8_recipe", "layers in MXFP8"},
    {"optimization.use_fused_rmsnorm", one, taken, "runtime.kernels.norm", "fused, else unfused"},
    {"optimization.use_fused_rotary_pos_emb", one, taken, "runtime.kernels.rope",
     "fused, else unfused"},
    {"optimization.moe_grouped_gemm", one, taken, "moe.experts", "grouped, else sequential"},
    {"training.use_fused_rmsnorm", one, taken, "runtime.kernels.norm",
     "as optimization.use_fused_rmsnorm, in older versions"},
    {"training.use_fused_rotary_pos_emb", one, taken, "runtime.kernels.rope",
     "as optimization.use_fused_rotary_pos_emb, in older versions"},
    {"training.moe_grouped_gemm", one, taken, "moe.experts",
     "as optimization.moe_grouped_gemm, in older versions"},
    {"training.chunk_loss_size", one, unmodelled, "training.cross_entropy",
     "logits in chunks: less memory at the head"},
    {"model.quant_converters", any, refused, "training.fp8_recipe", "layers in MXFP8", false, "[]"},
    {"model.resize_vocab", one, unmodelled, "model.vocabulary", "rows for new words", false,
     "False"},
    {"optimization.chunk_loss_size", one, unmodelled, "training.cross_entropy",
     "logits in chunks: less memory at the head"},
    {"parallel.num_to_forward_prefetch", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered", false, "1"},
    {"parallel.num_to_backward_prefetch", one, unmodelled, "parallel.zero",
     "how far ahead parameters are gathered", false, "1"},
    {"parallel.fsdp_implementation", one, unmodelled, "parallel.zero", "a sharding of its own",
     false, "native"},
};

constexpr IgnoredFlags mindspeed_fsdp2_ignored_table[] = {
    {"runs, logs, checkpoints, rates, data", "model data training inference"},
    {"how modules are wrapped",
     "parallel.fsdp_modules parallel.ignored_modules parallel.hook_modules "
     "parallel.shard_placement_fn parallel.efsdp_shard_placement_fn parallel.tp_colwise "
     "parallel.tp_rowwise parallel.ep_modules parallel.ep_fsdp_modules parallel.chunk_mbs "
     "parallel.chunk_mbs_batch_dim parallel.chunk_mbs_modules parallel.chunk_mbs_arg_indexs "
     "parallel.chunk_mbs_kwarg_names"},
    {"attention is fused without it, too: PyTorch's own", "optimization.use_flash_attn"},
    {"kernels that are assumed",
     "optimization.use_triton_gdn optimization.use_flash_gdn optimization.gdn_chunk_size "
     "optimization.use_sparse_flash_attn optimization.use_fused_lightning_indexer "
     "optimization.use_fused_lightning_indexer_loss optimization.use_ascend_mhc "
     "optimization.use_triton_swiglu_limit optimization.use_triton_rmsnormgated "
     "optimization.pre_tokens:any optimization.next_tokens:any optimization.fix_router"},
};

}  // namespace

std::span<const Flag> mindspeed_fsdp2_flags() { return mindspeed_fsdp2_table; }
std::span<const IgnoredFlags> mindspeed_fsdp2_ignored() { return mindspeed_fsdp2_ignored_table; }

}  // namespace stepcast::launch
