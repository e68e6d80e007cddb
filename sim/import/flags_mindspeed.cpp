#include "flags.hpp"

// MindSpeed and MindSpeed-LLM beside Megatron's: features_manager/** and mindspeed_llm/training.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag mindspeed_table[] = {
    {"--use-flash-attn", none, taken, "training.attention", "fused; absent: unfused"},
    {"--use-fused-rmsnorm", none, taken, "runtime.kernels.norm", "fused; absent: unfused"},
    {"--use-fused-rotary-pos-emb", none, taken, "runtime.kernels.rope", "fused; absent: unfused"},
    {"--use-fused-swiglu", none, taken, "runtime.kernels.activation", "fused; absent: unfused"},
    {"--use-fused-moe-token-permute-and-unpermute", none, taken, "moe.permutation",
     "fused; absent: indexed"},
    {"--gemm-gradient-accumulation-fusion", none, taken, "communication.gradient.accumulation",
     "fused"},
    {"--context-parallel-algo", one, taken, "parallel.context_algorithm",
     "megatron_cp_algo ring, ulysses_cp_algo, hybrid_cp_algo, kvallgather_cp_algo; counts only "
     "with CP above 1"},
    {"--ulysses-degree-in-cp", one, taken, "parallel.context_algorithm", "u of hybrid(u)"},
    {"--noop-layers", any, taken, "model.layers, parallel.layers_per_chunk",
     "layers that the cut counts and the model lacks"},
    {"--num-layer-list", any, taken, "parallel.layers_per_chunk", "layers of each stage"},
    {"--schedules-method", one, taken, "schedule.pipeline", "dualpipev: dualpipe_v with vpp 2"},
    {"--moe-fb-overlap", none, taken, "moe.overlap", "fb_pair"},
    {"--moe-alltoall-overlap-comm", none, taken, "moe.overlap", "shared_expert where there is one"},
    {"--moe-allgather-overlap-comm", none, taken, "moe.overlap",
     "shared_expert where there is one"},
    {"--moe-tp-extend-ep", none, taken, "parallel.ep, parallel.etp", "EP x TP, and 1"},
    {"--moe-token-dispatcher-type", one, taken, "moe.dispatch",
     "allgather (also when absent), alltoall and alltoall_seq flat"},
    {"--first-k-dense-replace", one, taken, "model.moe.first_dense", "-1: none"},
    {"--moe-layer-freq", one, taken, "model.moe.period", "-1: every layer"},
    {"--n-shared-experts", one, taken, "model.moe.shared_experts",
     "each of the width of a routed one"},
    {"--moe-intermediate-size", one, taken, "model.moe.expert_hidden", ""},
    {"--n-group", one, taken, "model.moe.groups", ""},
    {"--topk-group", one, taken, "model.moe.top_groups",
     "without --n-group the groups are those of EP"},
    {"--multi-head-latent-attention", none, taken, "model.attention.kind", "mla"},
    {"--qk-nope-head-dim", one, taken, "model.attention.nope_dim", ""},
    {"--qk-rope-head-dim", one, taken, "model.attention.rope_dim", ""},
    {"--num-nextn-predict-layers", one, taken, "model.mtp_layers", "as --mtp-num-layers"},
    {"--post-norm", none, taken, "model.norm", "sandwich"},
    {"--add-dense-bias", none, taken, "model.bias", "all"},
    {"--geglu", none, taken, "model.ffn.kind", "swiglu: three matrices"},
    {"--gelu-tanh", none, taken, "model.ffn.kind",
     "swiglu: gated as well; runtime.kernels.activation formula"},
    {"--padded-base-length", one, taken, "training.attention_head",
     "heads of latent attention are padded to a multiple; 128 unless given"},
    {"--mla-fa-without-pad", none, taken, "training.attention_head", "none"},
    {"--use-ascend-coc", none, taken, "communication.tensor.overlap",
     "chunks(n) of --coc-parallel-num"},
    {"--coc-parallel-num", one, taken, "communication.tensor.overlap", "1 unless given"},
    {"--use-mc2", none, taken, "communication.tensor.overlap",
     "chunks(4), which is assumed; counts with TP, sequence parallelism and no experts"},
    {"--use-ascend-mc2", none, taken, "communication.tensor.overlap", "as --use-mc2"},
    {"--fix-sub-seq-length", one, taken, "schedule.data.documents",
     "of one length, with --reset-attention-mask; -1: none"},
    {"--router-gating-in-fp32", none, taken, "moe.router.precision", "fp32"},
    {"--swap-optimizer", none, taken, "training.offload.optimizer", "true"},
    {"--reuse-fp32-param", none, taken, "training.master_weights", "remainder"},
    {"--enable-recompute-layers-per-pp-rank", none, taken, "training.recompute",
     "n of block counts per stage, the first chunk first"},
    {"--layerzero", none, taken, "parallel.zero", "3"},
    {"--lora-target-modules", any, taken, "training.adapters.targets",
     "linear_qkv, linear_proj, linear_fc1, linear_fc2"},
    {"--lora-r", one, taken, "training.adapters.rank",
     "16 unless given; counts only with --lora-target-modules"},
    {"--qlora-nf4", none, taken, "training.adapters.frozen", "nf4"},
    {"--lora-fusion", none, unmodelled, "training.adapters",
     "exchanges of the products beside kernels of the adapters"},
    {"--lora-modules-to-save", any, lacking, "training.adapters.trained",
     "modules that are trained whole beside adapters"},
    {"--lora-register-forward-hook", any, unmodelled, "training.adapters",
     "gradients below the first adapter"},
    {"--lu-lora-final-layer-index", one, lacking, "training.adapters.layers",
     "layers with adapters of another kind"},

    {"--moe-alltoall-mc2", none, refused, "moe.overlap",
     "pieces of its kernel, which the file does not say"},
    {"--pipeline-num-transformer-layers", any, refused, "parallel.layers_per_chunk",
     "layers of each stage and chunk; give them as a table"},
    {"--cp-window-size", one, refused, "parallel.context_algorithm", "two rings", false, "1"},
    {"--interleave-sliding-window", one, taken, "model.attention.window",
     "in every second layer, the first among them"},
    {"--sliding-window", one, taken, "model.attention.window", "in every layer"},
    {"--full-attention-interval", one, taken, "model.linear_attention.full_every",
     "gated delta nets in the other layers"},
    {"--mamba-d-conv", one, taken, "model.linear_attention.convolution",
     "beside --full-attention-interval"},
    {"--enable-dsa-indexer", none, taken, "model.attention.index_heads",
     "sparse attention, with latent attention"},
    {"--index-n-heads", one, taken, "model.attention.index_heads", "64 unless given"},
    {"--index-head-dim", one, taken, "model.attention.index_dim", "128 unless given"},
    {"--index-topk", one, taken, "model.attention.index_top_k", "2048 unless given"},
    {"--use-dsa-absorb", none, unmodelled, "model.attention.index_heads",
     "products of latents in the sparse core, whether it is said or not"},
    {"--enable-mhc", none, lacking, "model.residual", "hyper-connections"},
    {"--cla-share-factor", one, lacking, "model.attention.shared_layers",
     "keys and values that layers share", false, "1"},
    {"--tp-2d", none, refused, "parallel.tp", "tensor parallelism in two directions"},
    {"--mla-zero-memory", none, refused, "training.recompute", "recomputation by module"},
    {"--recompute-mla-up-proj", none, taken, "training.recompute", "{modules: [mla_up_proj]}"},
    {"--recompute-activation-function", none, refused, "training.recompute",
     "recomputation by module"},
    {"--recompute-activation-function-num-layers", one, refused, "training.recompute",
     "recomputation by module"},
    {"--recompute-norm", none, taken, "training.recompute", "{modules: [layernorm]}"},
    {"--recompute-norm-num-layers", one, refused, "training.recompute", "recomputation by module"},
    {"--moe-zero-memory", one, refused, "training.recompute", "recomputation by module", false,
     "disable"},
    {"--recompute-in-advance", none, refused, "training.recompute", "recomputation in idle time"},
    {"--recompute-in-bubble", none, refused, "training.recompute", "recomputation in idle time"},
    {"--adaptive-recompute-device-swap", none, refused, "training.recompute",
     "a choice at run time"},
    {"--swap-attention", none, refused, "training.offload.activations",
     "a part that the file does not say"},
    {"--swap-layer-input", none, refused, "training.offload.activations",
     "a part that the file does not say"},
    {"--smart-swap", none, refused, "training.offload.activations",
     "a part that the file does not say"},
    {"--quant-states", one, refused, "training.first_moment", "states in lower precision"},
    {"--o2-optimizer", none, refused, "training.master_weights", "states in lower precision"},
    {"--o2-gradient", none, refused, "communication.gradient.precision",
     "gradients in lower precision"},
    {"--virtual-optimizer", any, refused, "training.offload.optimizer", "a part of the states"},
    {"--num-layers-per-vpp", any, refused, "parallel.layers_per_chunk",
     "layers of each chunk; give them as a table"},

    {"--expert-interval", one, refused, "model.moe.period", "experts in every n-th layer", false,
     "1"},
    {"--stage", one, refused, "training", "a training with more models than one", false,
     "pretrain|sft"},
    {"--moe-device-level-aux-loss-coeff", one, unmodelled, "moe.router.aux_loss",
     "a second balancing loss", false, "0|0.0"},
    {"--moe-comm-aux-loss-coeff", one, unmodelled, "moe.router.aux_loss", "a third balancing loss",
     false, "0|0.0"},
    {"--input-layernorm-in-fp32", none, unmodelled, "runtime.kernels.norm", "casts around a norm"},
    {"--output-logit-softcapping", one, unmodelled, "training.cross_entropy",
     "a function of the logits"},
    {"--attn-logit-softcapping", one, unmodelled, "training.attention",
     "a function of the scores inside the kernel"},
    {"--is-instruction-dataset", none, unmodelled, "schedule.data.documents",
     "conversations of many lengths"},
    {"--use-cp-send-recv-overlap", none, unmodelled, "parallel.context_algorithm",
     "rings are overlapped, whether it is said or not"},
    {"--npu-deterministic", none, unmodelled, "runtime.kernels",
     "kernels that give the same bits every time"},
    {"--use-deter-comp", none, unmodelled, "runtime.kernels",
     "kernels that give the same bits every time"},
    {"--hccl-group-buffer", any, unmodelled, "cluster.collectives.buffer",
     "buffers of groups by name"},
    {"--hccl-ep-group-buffer", any, unmodelled, "cluster.collectives.buffer",
     "buffers of groups by name"},
    {"--moe-unperm2-mem-optim", none, unmodelled, "moe.permutation", "less memory of the rows"},
    {"--moe-unperm2-mem-optim-swap", none, unmodelled, "training.offload.activations",
     "less memory of the rows"},
    {"--use-distributed-optimizer-hdp", none, unmodelled, "parallel.dp_replicate",
     "another place of the shards"},
    {"--loss-chunk-size", one, unmodelled, "training.cross_entropy",
     "logits in chunks: less memory at the head"},
    {"--moe-permutation-async-comm", none, unmodelled, "moe.overlap",
     "overlaps small gathers of counts"},
    {"--shared-expert-gate", none, taken, "model.moe.shared_gate", "true"},
    {"--add-output-layer-bias", none, unmodelled, "model.bias", "a bias of the head"},
    {"--coc-fused-kernel", none, unmodelled, "communication.tensor.overlap",
     "its pieces are those of --coc-parallel-num"},
    {"--output-layer-slice-num", one, unmodelled, "training.cross_entropy",
     "logits in slices: less memory at the head"},
    {"--loss-compute-mode", one, unmodelled, "training.cross_entropy",
     "logits in chunks: less memory at the head"},
    {"--mtp-mem-efficient-logits", none, unmodelled, "training.cross_entropy",
     "less memory at the head"},
};

constexpr IgnoredFlags mindspeed_ignored_table[] = {
    {"scaling, weights and checkpoints of adapters",
     "lora-alpha lora-load lora-ckpt-filter save-lora-to-hf qlora-save-dequantize lu-lora-lr "
     "lu-lora-lr-ratio"},
    {"how the kernel of attention is called",
     "sparse-mode pre-tockens next-tockens shape-order use-fusion-attn-v2 mla-mm-split "
     "mla-fa-divide-qk fa-without-pad attention-mask-type use-ring-exchange-attn "
     "alibi-fusion-attn-type  megatron-cp-in-bnsd "
     "use-fused-ring-attention-update dualpipev-dw-detach enable-gqa-share"},
    {"where the model's code and weights are",
     "spec prompt-type handler-name enable-hf2mg-convert model-type-hf  ai-framework "
     " tokenizer-not-use-fast no-shared-storage tokenizer-padding-side "
     " no-cut-token hf-dir mg-save-hf-dir enable-thinking "
     "pad-to-multiple-of workers hf-cfg-dir enable-mg2hf-convert variable-seq-lengths"},
    {"rotary positions",
     "rope-scaling-type rope-scaling-beta-fast rope-scaling-beta-slow rope-scaling-mscale "
     "rope-scaling-mscale-all-dim rope-scaling-original-max-position-embeddings "
     "low-freq-factor high-freq-factor partial-rotary-factor dynamic-factor use-glm-rope "
     "longrope-freqs-type long-factor short-factor long-mscale short-mscale"},
    {"kernels that are assumed, and losses of the size of one",
     "use-sparse-flash-attn use-triton-gdn use-triton-mhc use-fused-mhc "
     "use-fused-lightning-indexer use-fused-lightning-indexer-loss indexer-loss-coeff"},
    {"weights of norms", "add-rmsnorm-offset init-norm-weight-in-fp32 rmsnorm-weight-in-fp32"},
    {"numbers of the router that change no kernel",
     "norm-topk-prob routed-scaling-factor seq-aux "
     "  topk-softmax-in-fp32 "
     "balanced-moe-experts moe-revert-type-after-topk fix-router  noisy-gate-policy "
     "enable-token-rearrange-opt moe-router-load-balancing-strategy"},
    {"logits and embeddings as they are",
     " output-multiplier-scale input-embeds-norm embed-layernorm "
     "embedding-multiplier-scale  query-pre-attn-scalar scale-emb "
     "scale-depth dim-model-base normalize-embedding"},
    {"the launcher and the device",
     "disable-gloo-group   jit-compile "
     " hccl-slice-size enable-high-availability log-throughput "
     "swap-optimizer-times "
     "  "
     "reset-position-ids actual-seq-len-in-gpu transformer-engine-version"},
};

}  // namespace

std::span<const Flag> mindspeed_flags() { return mindspeed_table; }
std::span<const IgnoredFlags> mindspeed_ignored() { return mindspeed_ignored_table; }

}  // namespace stepcast::launch
