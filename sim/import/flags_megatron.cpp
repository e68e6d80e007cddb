#include "flags.hpp"

// Megatron-LM, megatron/training/arguments.py and core/**/*_config.py of releases 0.8 to 0.16.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag megatron_table[] = {
    {"--num-layers", one, taken, "model.layers", "less the no-op layers"},
    {"--encoder-num-layers", one, taken, "model.layers", "as --num-layers"},
    {"--hidden-size", one, taken, "model.hidden", "", true},
    {"--ffn-hidden-size", one, taken, "model.ffn.hidden",
     "absent: 4 x hidden, with --swiglu 8/3 x hidden in multiples of 64"},
    {"--num-attention-heads", one, taken, "model.attention.heads", "", true},
    {"--kv-channels", one, taken, "model.attention.head_dim", "absent: hidden / heads"},
    {"--group-query-attention", none, taken, "model.attention.kv_heads",
     "without it every head has its own keys and values"},
    {"--num-query-groups", one, taken, "model.attention.kv_heads",
     "1 unless given; counts only with --group-query-attention"},
    {"--seq-length", one, taken, "training.sequence", "", true},
    {"--encoder-seq-length", one, taken, "training.sequence", "as --seq-length"},
    {"--swiglu", none, taken, "model.ffn.kind", "swiglu, else gelu"},
    {"--squared-relu", none, taken, "model.ffn.kind",
     "gelu: two matrices and an elementwise function"},
    {"--quick-geglu", none, taken, "model.ffn.kind", "swiglu: three matrices"},
    {"--openai-gelu", none, taken, "model.ffn.kind", "gelu"},
    {"--normalization", one, taken, "model.norm", "RMSNorm rms, LayerNorm layer"},
    {"--qk-layernorm", none, taken, "model.qk_norm",
     "head; with latent attention its own norms are meant"},
    {"--disable-bias-linear", none, taken, "model.bias", "none; absent: all"},
    {"--add-qkv-bias", none, taken, "model.bias", "qkv, beside --disable-bias-linear"},
    {"--untie-embeddings-and-output-weights", none, taken, "model.tied_embeddings",
     "false; absent: true"},
    {"--position-embedding-type", one, taken, "model.position",
     "learned_absolute learned(n), rope, yarn and mrope rope, alibi and none none"},
    {"--use-rotary-position-embeddings", none, taken, "model.position", "rope"},
    {"--max-position-embeddings", one, taken, "model.position", "n of learned(n)"},
    {"--vocab-size", one, taken, "model.vocabulary",
     "padded to a multiple of --make-vocab-size-divisible-by x TP"},
    {"--encoder-tensor-model-parallel-size", one, refused, "parallel.tp",
     "ranks of an encoder beside the decoder", false, "0"},
    {"--encoder-pipeline-model-parallel-size", one, refused, "parallel.pp",
     "stages of an encoder before the decoder", false, "0"},
    {"--model-parallel-size", one, taken, "parallel.tp",
     "as --tensor-model-parallel-size, until 2022"},
    {"--checkpoint-activations", none, taken, "training.recompute", "full, until 2022"},
    {"--checkpoint-num-layers", one, unmodelled, "training.recompute",
     "layers that are rebuilt together", false, "1"},
    {"--pad-vocab-size-to", one, taken, "model.vocabulary", "as --padded-vocab-size"},
    {"--embed-layernorm", none, unmodelled, "model.norm", "a norm behind the embedding"},
    {"--sync-tp-duplicated-parameters", none, unmodelled, "communication.gradient",
     "sums of parameters that tensor ranks share"},
    {"--padded-vocab-size", one, taken, "model.vocabulary", "as it stands"},
    {"--make-vocab-size-divisible-by", one, taken, "model.vocabulary", "128 unless given"},
    {"--multi-latent-attention", none, taken, "model.attention.kind", "mla"},
    {"--q-lora-rank", one, taken, "model.attention.q_lora_rank", "absent: 0"},
    {"--kv-lora-rank", one, taken, "model.attention.kv_lora_rank", "absent: 32"},
    {"--qk-head-dim", one, taken, "model.attention.nope_dim", "absent: 128"},
    {"--qk-pos-emb-head-dim", one, taken, "model.attention.rope_dim", "absent: 64"},
    {"--v-head-dim", one, taken, "model.attention.v_dim", "absent: 128"},
    {"--num-experts", one, taken, "model.moe.experts", "", true},
    {"--moe-router-topk", one, taken, "model.moe.top_k", "absent: 2"},
    {"--moe-ffn-hidden-size", one, taken, "model.moe.expert_hidden",
     "absent: the width of a dense layer"},
    {"--moe-shared-expert-intermediate-size", one, taken, "model.moe.shared_hidden",
     "of all shared experts together: one of that width"},
    {"--moe-layer-freq", one, taken, "model.moe.first_dense, model.moe.period",
     "N, or a list such as ([0]*3+[1]*58)"},
    {"--moe-router-num-groups", one, taken, "model.moe.groups", ""},
    {"--moe-router-group-topk", one, taken, "model.moe.top_groups", ""},
    {"--moe-router-enable-expert-bias", none, taken, "model.moe.correction_bias", "true"},
    {"--moe-expert-capacity-factor", one, taken, "moe.capacity_factor", ""},
    {"--moe-pad-expert-input-to-capacity", none, taken, "moe.capacity_pad", "true"},
    {"--moe-token-dispatcher-type", one, taken, "moe.dispatch",
     "allgather (also when absent), alltoall flat, flex two_hop_dedup"},
    {"--moe-flex-dispatcher-backend", one, taken, "moe.dispatch", "of flex"},
    {"--moe-enable-deepep", none, taken, "moe.dispatch", "two_hop_dedup"},
    {"--moe-grouped-gemm", none, taken, "moe.experts", "grouped; absent: sequential"},
    {"--moe-use-legacy-grouped-gemm", none, taken, "moe.experts", "grouped, in one kernel"},
    {"--moe-permute-fusion", none, taken, "moe.permutation", "fused; absent: indexed"},
    {"--moe-router-load-balancing-type", any, taken, "moe.router.aux_loss",
     "true for a loss with a coefficient; sinkhorn is said"},
    {"--moe-aux-loss-coeff", any, taken, "moe.router.aux_loss", "true unless 0"},
    {"--moe-z-loss-coeff", one, taken, "moe.router.z_loss",
     "true unless 0; counts with statements of the router"},
    {"--moe-router-dtype", one, taken, "moe.router.precision",
     "fp32, also for fp64; counts with a version of the dispatcher"},
    {"--moe-router-score-function", one, taken, "moe.router.score",
     "softmax, sigmoid; counts with statements of the router"},
    {"--moe-router-fusion", none, taken, "runtime.kernels.router", "fused"},
    {"--moe-router-topk-limited-devices", one, taken, "model.moe.top_groups",
     "groups are those of EP"},
    {"--moe-shared-expert-overlap", none, taken, "moe.overlap", "shared_expert"},
    {"--overlap-moe-expert-parallel-comm", none, taken, "moe.overlap", "fb_pair"},
    {"--mtp-num-layers", one, taken, "model.mtp_layers", "", true},
    {"--tensor-model-parallel-size", one, taken, "parallel.tp", "", true},
    {"--pipeline-model-parallel-size", one, taken, "parallel.pp", "", true},
    {"--context-parallel-size", one, taken, "parallel.cp", "", true},
    {"--expert-model-parallel-size", one, taken, "parallel.ep", "", true},
    {"--expert-tensor-parallel-size", one, taken, "parallel.etp", "absent: TP"},
    {"--sequence-parallel", none, taken, "parallel.sequence_parallel",
     "switched off where TP is 1"},
    {"--cp-comm-type", any, taken, "parallel.context_algorithm",
     "p2p ring, a2a ulysses, all_gather allgather, a2a+p2p hybrid(u)"},
    {"--hierarchical-context-parallel-sizes", any, taken, "parallel.context_algorithm",
     "u of hybrid(u) is the first"},
    {"--num-layers-per-virtual-pipeline-stage", one, taken, "parallel.vpp", "layers / PP / n"},
    {"--num-virtual-stages-per-pipeline-rank", one, taken, "parallel.vpp", ""},
    {"--decoder-first-pipeline-num-layers", one, taken, "parallel.layers_per_chunk",
     "of the first stage, over its chunks"},
    {"--decoder-last-pipeline-num-layers", one, taken, "parallel.layers_per_chunk",
     "of the last stage"},
    {"--account-for-embedding-in-pipeline-split", none, taken, "parallel.layers_per_chunk",
     "a layer less in the first chunk"},
    {"--account-for-loss-in-pipeline-split", none, taken, "parallel.layers_per_chunk",
     "a layer less in the last chunk"},
    {"--pipeline-model-parallel-layout", one, taken, "parallel.layers_per_chunk, parallel.vpp",
     "| ends a chunk; E t m L: embedding, layer, MTP, loss"},
    {"--microbatch-group-size-per-virtual-pipeline-stage", one, taken, "schedule.group", "", true},
    {"--use-tp-pp-dp-mapping", none, taken, "parallel.order", "[tp, cp, ep, pp, dp]"},
    {"--no-overlap-p2p-communication", none, taken, "schedule.p2p",
     "blocking; without chunks it is so anyway"},
    {"--micro-batch-size", one, taken, "training.micro_batch", "", true},
    {"--global-batch-size", one, taken, "training.global_batch", "absent: micro-batch x DP"},
    {"--use-distributed-optimizer", none, taken, "parallel.zero", "1; absent: 0"},
    {"--overlap-grad-reduce", none, taken, "communication.gradient.overlap", "true; absent: false"},
    {"--overlap-param-gather", none, taken, "communication.parameter.overlap",
     "needs --overlap-grad-reduce; without it, behind the update"},
    {"--use-megatron-fsdp", none, taken, "parallel.zero",
     "by --data-parallel-sharding-strategy, both overlaps on"},
    {"--use-custom-fsdp", none, taken, "parallel.zero", "as --use-megatron-fsdp"},
    {"--use-torch-fsdp2", none, taken, "parallel.zero", "3"},
    {"--data-parallel-sharding-strategy", one, taken, "parallel.zero",
     "no_shard 0, optim 1, optim_grads 2, optim_grads_params 3; counts with FSDP alone"},
    {"--num-distributed-optimizer-instances", one, taken, "parallel.dp_replicate",
     "counts with --use-distributed-optimizer or FSDP"},
    {"--ddp-bucket-size", one, taken, "communication.gradient.bucket", ""},
    {"--grad-reduce-in-bf16", none, taken, "communication.gradient.precision", "bf16"},
    {"--main-grads-dtype", one, taken, "communication.gradient.precision", "fp32, bf16"},
    {"--accumulate-allreduce-grads-in-fp32", none, taken, "communication.gradient.precision",
     "fp32; with --bf16 it is so anyway"},
    {"--bf16", none, taken, "training.precision", "bf16"},
    {"--fp16", none, taken, "training.precision", "fp16"},
    {"--fp8-format", one, taken, "training.precision", "fp8_mixed"},
    {"--fp8-recipe", one, taken, "training.fp8_recipe",
     "delayed (also when absent), tensorwise, blockwise, mxfp8; counts with --fp8-format"},
    {"--fp8-param-gather", none, taken, "communication.parameter.precision",
     "fp8; with mxfp8 gathers stay in BF16"},
    {"--moe-router-padding-for-quantization", none, taken, "moe.row_padding",
     "none; absent: copies, with --fp8-format and experts"},
    {"--moe-router-padding-for-fp8", none, taken, "moe.row_padding",
     "as --moe-router-padding-for-quantization"},
    {"--no-gradient-accumulation-fusion", none, taken, "communication.gradient.accumulation",
     "separate"},
    {"--recompute-activations", none, taken, "training.recompute", "selective"},
    {"--recompute-granularity", one, taken, "training.recompute", "full, selective"},
    {"--recompute-method", one, taken, "training.recompute", "uniform full; block a table"},
    {"--recompute-num-layers", one, taken, "training.recompute", "of block: layers of each chunk"},
    {"--recompute-modules", any, taken, "training.recompute",
     "{modules: [...]}; counts with --recompute-granularity selective"},
    {"--cross-entropy-loss-fusion", none, taken, "training.cross_entropy", "fused"},
    {"--hidden-dropout", one, taken, "training.dropout", "0.1 unless given"},
    {"--attention-backend", one, taken, "training.attention", "unfused, else fused"},
    {"--use-flash-attn", none, taken, "training.attention", "fused"},
    {"--transformer-impl", one, taken, "training.attention",
     "local without --use-flash-attn: unfused"},
    {"--tp-comm-overlap", none, taken, "communication.tensor.overlap", "chunks(TP)"},
    {"--no-rope-fusion", none, taken, "runtime.kernels.rope", "unfused"},
    {"--no-bias-swiglu-fusion", none, taken, "runtime.kernels.activation", "unfused"},
    {"--no-bias-gelu-fusion", none, taken, "runtime.kernels.activation", "unfused"},
    {"--cuda-graph-impl", one, taken, "runtime.graphs",
     "none, transformer_engine: {scopes: [...]} by --cuda-graph-scope"},
    {"--external-cuda-graph", none, taken, "runtime.graphs",
     "as --cuda-graph-impl transformer_engine"},
    {"--cuda-graph-scope", any, taken, "runtime.graphs",
     "attn, mlp, moe_router, moe_preprocess, moe; full or absent: all of a layer; counts with "
     "--cuda-graph-impl transformer_engine"},
    {"--cuda-graph-modules", any, taken, "runtime.graphs", "as --cuda-graph-scope"},
    {"--optimizer-cpu-offload", none, taken, "training.offload.optimizer", "true"},
    {"--cpu-offloading-num-layers", one, taken, "training.offload.activations", "n / layers"},
    {"--extra-vocab-size", one, unmodelled, "model.vocabulary",
     "rows beside those of the tokenizer (Pai-Megatron-Patch)"},
    {"--rampup-batch-size", any, unmodelled, "training.global_batch",
     "the step is that of the final batch"},

    {"--moe-layer-recompute", none, taken, "training.recompute", "{modules: [moe]}"},
    {"--window-size", any, taken, "model.attention.window", "one more than the first number"},
    {"--window-attn-skip-freq", any, taken, "model.attention.full_every", "a number"},
    {"--attention-chunk-size", one, refused, "model.attention.window", "attention in chunks"},
    {"--experimental-attention-variant", one, taken, "model.linear_attention.kind",
     "gated_delta_net; dsa: model.attention.index_heads"},
    {"--linear-attention-freq", one, taken, "model.linear_attention.full_every", "a number"},
    {"--linear-conv-kernel-dim", one, taken, "model.linear_attention.convolution", ""},
    {"--linear-key-head-dim", one, taken, "model.linear_attention.key_dim", ""},
    {"--linear-value-head-dim", one, taken, "model.linear_attention.value_dim", ""},
    {"--linear-num-key-heads", one, taken, "model.linear_attention.key_heads", ""},
    {"--linear-num-value-heads", one, taken, "model.linear_attention.value_heads", ""},
    {"--dsa-indexer-n-heads", one, taken, "model.attention.index_heads", ""},
    {"--dsa-indexer-head-dim", one, taken, "model.attention.index_dim", ""},
    {"--dsa-indexer-topk", one, taken, "model.attention.index_top_k", ""},
    {"--dsa-indexer-use-sparse-loss", none, unmodelled, "model.attention.index_heads",
     "the indexer learns from chosen tokens, whether it is said or not"},
    {"--attention-output-gate", none, taken, "model.attention.output_gate", "true"},
    {"--hybrid-layer-pattern", one, refused, "model.attention.kind", "Mamba layers"},
    {"--hybrid-override-pattern", one, refused, "model.attention.kind", "Mamba layers"},
    {"--is-hybrid-model", none, refused, "model.attention.kind", "Mamba layers"},
    {"--mamba-state-dim", one, refused, "model.attention.kind", "Mamba layers"},
    {"--mamba-num-heads", one, refused, "model.attention.kind", "Mamba layers"},
    {"--moe-latent-size", one, lacking, "model.moe.latent", "experts in a latent space"},
    {"--enable-mhc-connections", none, lacking, "model.residual", "hyper-connections"},
    {"--moe-shared-expert-gate", none, taken, "model.moe.shared_gate", "true"},
    {"--delay-wgrad-compute", none, lacking, "schedule.weight_gradients",
     "deferred weight gradients inside the pair"},
    {"--step-batch-size-schedule", any, refused, "training.global_batch",
     "a schedule of batch sizes; give the one to forecast"},
    {"--overlap-p2p-communication-warmup-flush", none, refused, "schedule.p2p",
     "overlap in warm-up and flush alone"},
    {"--overlap-param-gather-with-optimizer-step", none, refused, "communication.gradient.overlap",
     "gathers beside the optimizer"},
    {"--outer-dp-sharding-strategy", one, refused, "parallel.dp_replicate",
     "states of the instances shared out again", false, "no_shard"},
    {"--ddp-num-buckets", one, refused, "communication.gradient.bucket",
     "a number of buckets; give elements of one"},
    {"--fp4-format", one, refused, "training.precision", "FP4"},
    {"--first-last-layers-bf16", none, refused, "training.precision", "layers in BF16 beside FP8"},
    {"--num-layers-at-start-in-bf16", one, refused, "training.precision",
     "layers in BF16 beside FP8"},
    {"--num-layers-at-end-in-bf16", one, refused, "training.precision",
     "layers in BF16 beside FP8"},
    {"--distribute-saved-activations", none, refused, "training.recompute",
     "saved inputs cut over tensor ranks"},
    {"--optimizer", one, lacking, "training.optimizer", "optimizers other than Adam", false,
     "adam"},
    {"--use-precision-aware-optimizer", none, unmodelled, "training.first_moment",
     "by itself it changes nothing; its types do"},
    {"--exp-avg-dtype", one, taken, "training.first_moment",
     "as it says; below fp32 it needs --use-precision-aware-optimizer"},
    {"--exp-avg-sq-dtype", one, taken, "training.second_moment", "likewise"},
    {"--main-params-dtype", one, taken, "training.master_weights",
     "fp32, fp16; fp16 needs --use-precision-aware-optimizer"},
    {"--optimizer-offload-fraction", one, taken, "training.offload.optimizer_part",
     "counts with --optimizer-cpu-offload"},
    {"--offload-modules", any, refused, "training.offload.activations", "offload by module"},
    {"--reset-attention-mask", none, taken, "schedule.data.mask",
     "document, with the documents that --set schedule.data.documents says; said without them"},
    {"--moe-extended-tp", none, refused, "parallel.etp", "experts cut over all ranks of TP x EP"},
    {"--kitchen-config-file", one, refused, "training.precision", "a precision for each layer"},
    {"--no-fp8-wgrad", none, refused, "training.fp8_recipe", "weight gradients in BF16 beside FP8"},
    {"--moe-apply-probs-on-input", none, unmodelled, "moe.dispatcher",
     "router weights are applied in front of the experts"},
    {"--moe-input-jitter-eps", one, unmodelled, "moe.router", "a product of the router's input",
     false, "0|0.0"},
    {"--moe-deepep-num-sms", one, unmodelled, "cluster.collectives.cores.deepep",
     "cores that its kernels hold; the cluster says 20", false, "20"},
    {"--moe-hybridep-num-sms", one, unmodelled, "cluster.collectives.cores.hybridep",
     "cores that its kernels hold"},
    {"--no-async-tensor-model-parallel-allreduce", none, unmodelled, "communication.tensor.overlap",
     "reductions wait for the weight gradient beside them"},
    {"--deterministic-mode", none, unmodelled, "runtime.kernels",
     "kernels that give the same bits every time"},
    {"--use-legacy-models", none, unmodelled, "framework",
     "layers from before Megatron-Core; --framework megatron-lm-2023 has them"},
    {"--empty-unused-memory-level", one, unmodelled, "stalls.allocator_pauses",
     "the allocator's cache is emptied every step", false, "0"},
    {"--defer-embedding-wgrad-compute", none, unmodelled, "schedule",
     "the head's weight gradients wait for the end of the pipeline"},
    {"--use-sharp", none, unmodelled, "communication.algorithm", "switches that add up"},
    {"--nccl-ub", none, unmodelled, "communication.algorithm", "registered buffers of NCCL"},
    {"--fsdp-double-buffer", none, unmodelled, "parallel.zero", "two buffers more in memory"},
    {"--keep-fp8-transpose-cache", none, unmodelled, "training.fp8_recipe",
     "transposed weights stay in memory"},
    {"--reuse-grad-buf-for-mxfp8-param-ag", none, unmodelled, "communication.parameter",
     "a buffer less in memory"},
    {"--sft", none, unmodelled, "schedule.data.documents",
     "conversations of many lengths in a sequence"},
    {"--enable-cuda-graph", none, refused, "runtime.graphs",
     "graphs that Megatron-LM captures itself (--cuda-graph-impl local)"},
};

constexpr IgnoredFlags megatron_ignored_table[] = {
    {"optimizer and learning rate",
     "lr min-lr lr-decay-style lr-decay-iters lr-decay-samples lr-warmup-iters lr-warmup-samples "
     "lr-warmup-fraction:share "
     "lr-warmup-init lr-wsd-decay-style lr-wsd-decay-iters lr-wsd-decay-samples weight-decay "
     "start-weight-decay end-weight-decay weight-decay-incr-style "
     "clip-grad adam-beta1 adam-beta2 adam-eps sgd-momentum override-opt_param-scheduler "
     "override-opt-param-scheduler use-checkpoint-opt_param-scheduler "
     "decoupled-lr decoupled-min-lr loss-scale initial-loss-scale min-loss-scale loss-scale-window "
     "hysteresis check-for-nan-in-loss-and-grad no-check-for-nan-in-loss-and-grad"},
    {"length of the training",
     "train-iters train-samples exit-duration-in-mins exit-interval exit-signal-handler skip-train "
     "iterations-to-skip"},
    {"initialisation and seeds",
     "init-method-std init-method-xavier-uniform seed:any data-parallel-random-init "
     "use-cpu-initialization no-initialization perform-initialization te-rng-tracker "
     "embedding-init-method-std"},
    {"checkpoints",
     "save load save-interval save-retain-interval no-save-optim no-save-rng no-load-optim "
     "no-load-rng finetune ckpt-format ckpt-step auto-detect-ckpt-format "
     "use-checkpoint-args no-use-checkpoint-args exit-on-missing-checkpoint pretrained-checkpoint "
     "dist-ckpt-optim-fully-reshardable async-strategy verify-integrity async-ckpt-use-cpu-shm "
     "check-weight-hash-across-dp-replicas-interval "
     "async-save use-dist-ckpt dist-ckpt-format dist-ckpt-strictness use-persistent-ckpt-worker "
     "ckpt-fully-parallel-load "
     "ckpt-fully-parallel-save no-ckpt-fully-parallel-save ckpt-assume-constant-structure "
     "non-persistent-save-interval use-mp-args-from-checkpoint-args strict-fsdp-dtensor-load"},
    {"logging and profiling",
     "log-interval log-timers-to-tensorboard log-memory-to-tensorboard log-num-zeros-in-grad "
     "log-params-norm log-validation-ppl-to-tensorboard log-throughput log-progress "
     "log-batch-size-to-tensorboard log-world-size-to-tensorboard log-loss-scale-to-tensorboard "
     "logging-level timing-log-level timing-log-option tensorboard-dir tensorboard-log-interval "
     "tensorboard-queue-size "
     "wandb-project wandb-exp-name wandb-save-dir wandb-entity profile profile-step-start "
     "profile-step-end profile-ranks use-pytorch-profiler record-memory-history "
     "memory-snapshot-path log-straggler "
     "disable-straggler-on-startup straggler-ctrlr-port straggler-minmax-count one-logger-project "
     "one-logger-run-name enable-one-logger log-max-attention-logit moe-per-layer-logging "
     "inprocess-restart"},
    {"evaluation", "eval-interval eval-iters full-validation test-mode"},
    {"data and tokenizer",
     "data-path split train-data-path valid-data-path test-data-path data-cache-path "
     "data-args-path per-split-data-args-path mock-data tokenizer-type tokenizer-model "
     "tokenizer-name-or-path tokenizer-hf-use-fast vocab-file merge-file "
     "vocab-extra-ids num-workers dataloader-type no-mmap-bin-files "
     "no-create-attention-mask-in-dataloader create-attention-mask-in-dataloader "
     "reset-position-ids  eod-mask-loss dataset-impl trust-remote-code "
     "retro-project-dir  legacy-tokenizer tiktoken-pattern tiktoken-num-special-tokens "
     "data-sharding no-data-sharding dataloader-fast-cache-load "
     "tokenizer-hf-include-special-tokens data-impl DDP-impl codecarbon-dir "
     "patch-tokenizer-type max-padding-length dataset train-data valid-data train-mode epochs "
     "keep-last abort-on-unmet-fused-kernel-constraints kill-switch-path "
     "train-weighted-split-paths train-weighted-split-paths-path valid-weighted-split-paths "
     "valid-weighted-split-paths-path test-weighted-split-paths test-weighted-split-paths-path "
     "valid-num-workers norm-target-loss loss-on-targets-only reset-progress"},
    {"the launcher",
     "distributed-backend distributed-timeout-minutes local-rank lazy-mpu-init "
     "nccl-communicator-config-path use-tp-pp-dp-mapping-for-nccl "
     "enable-gloo-process-groups disable-gloo-process-groups "
     "rank-num enable-ft-package error-injection-rate rerun-mode result-rejected-tracker-filename "
     "local_rank high-priority-stream-groups config-logger-dir"},
    {"names of what the product always assumes",
     "moe-router-force-load-balancing use-mcore-models  enable-experimental "
     "attention-softmax-in-fp32 "
     "no-attention-softmax-in-fp32 apply-query-key-layer-scaling "
     " norm-epsilon layernorm-epsilon apply-layernorm-1p no-position-embedding "
     "export-force-local-attention "
     "calculate-per-token-loss attention-dropout:share "
     "clone-scatter-output-in-embedding no-clone-scatter-output-in-embedding "
     "model-config-path cross-entropy-fusion-impl"},
    {"rotary positions",
     "rotary-base:above rotary-percent:share rotary-scaling-factor "
     "rotary-seq-len-interpolation-factor "
     "rotary-interleaved use-rope-scaling rope-scaling-factor mscale mscale-all-dim beta-fast "
     "beta-slow "
     "original-max-position-embeddings no-rope-freq add-position-embedding mrope-section"},
    {"numbers of the router that change no kernel",
     "moe-router-topk-scaling-factor moe-router-pre-softmax "
     "moe-router-bias-update-rate moe-token-drop-policy mtp-loss-scaling-factor"},
    {"fused into kernels with a fused core",
     "no-masked-softmax-fusion no-bias-dropout-fusion no-persist-layer-norm "
     "cross-entropy-fusion-implementation apply-rope-fusion"},
    {"garbage collection and memory of the allocator",
     "manual-gc manual-gc-interval manual-gc-eval no-manual-gc-eval "
     "gradient-reduce-div-fusion align-grad-reduce no-align-grad-reduce align-param-gather "
     "ddp-average-in-collective "
     "ddp-pad-buckets-for-high-nccl-busbw "
     "suggested-communication-unit-size  "
     "init-model-with-meta-device  wgrad-deferral-limit"},
    {"scales of FP8",
     "fp8-margin fp8-interval fp8-amax-history-len fp8-amax-compute-algo fp8-wgrad "},
    {"counted with what is refused by itself: Mamba layers, Muon",
     "mamba-head-dim mamba-num-groups muon-momentum muon-extra-scale-factor muon-scale-mode "
     "muon-use-nesterov muon-num-ns-steps muon-tp-mode"},
    {"no reader left from 0.12 on", "no-scatter-gather-tensors-in-pipeline"},
};

}  // namespace

std::span<const Flag> megatron_flags() { return megatron_table; }
std::span<const IgnoredFlags> megatron_ignored() { return megatron_ignored_table; }

}  // namespace stepcast::launch
