#include "flags.hpp"

// What FlagScale (da4935ec) and Primus (fd1eeabb) have beside Megatron-LM's arguments.
namespace stepcast::launch {
namespace {

using enum Arity;
using enum Treatment;

constexpr Flag flagscale_table[] = {
    {"--multiple-of", one, taken, "model.ffn.hidden",
     "two thirds of 4 x hidden, x --hidden-dim-multiplier, rounded up"},
    {"--hidden-dim-multiplier", one, taken, "model.ffn.hidden", "beside --multiple-of"},
    {"--num-mtp-predictor", one, refused, "model.mtp_layers",
     "MTP of FlagScale's own; give the number", false, "0"},
    {"--qk-layernorm-hidden-dim", none, refused, "model.qk_norm",
     "norms over the whole width; give --set model.qk_norm=full"},
    {"--use-dualpipev", none, refused, "schedule.pipeline", "dualpipe_v, with vpp 2"},
    {"--moe-fb-overlap", none, taken, "moe.overlap", "fb_pair"},
    {"--recompute-granularity-per-stage-micro-batch", any, refused, "training.recompute",
     "recomputation that changes by stage and micro-batch"},
    {"--recompute-method-per-stage-micro-batch", any, refused, "training.recompute",
     "recomputation that changes by stage and micro-batch"},
    {"--recompute-num-layers-per-stage-micro-batch", any, refused, "training.recompute",
     "recomputation that changes by stage and micro-batch"},
    {"--standalone-embedding-stage", none, refused, "parallel.layers_per_chunk",
     "a stage that holds the embedding alone"},
    {"--enable-hetero", none, refused, "parallel.layers_per_chunk",
     "stages of several kinds of devices"},
    {"--peft-type", one, refused, "training.adapters.rank",
     "adapters; give their rank and targets"},
    {"--use-partial-reduce-for-shared-embedding", none, unmodelled, "model.tied_embeddings",
     "reduction of the shared embedding in parts"},
};

constexpr IgnoredFlags flagscale_ignored_table[] = {
    {"runs, logs, checkpoints, data",
     "norm-init-weight wandb-mode wandb-api-key wandb-log-model wandb-log-model-interval "
     "skip-samples-range skip-iters-range rampup-save-interval save-when-num-microbatches-change "
     "no-shared-fs extra-eval-interval special-tokens-file tokenizer-path extra-valid-data-path "
     "finetune-dataset-type apply-sft-dataset-separated-loss-mask-if-existed mtp-loss-coeff "
     "auto-tune auto-skip-spiky-loss spiky-loss-threshold ckpt-convert-save ckpt-convert-format "
     "lr-decay-stablelm2-cosine-samples lr-decay-stablelm2-cosine-max-lr "
     "lr-decay-stablelm2-cosine-period-samples lr-decay-stablelm2-rsqrt-samples "
     "lr-decay-stablelm2-decay-samples lr-decay-stablelm2-alpha lr-decay-stablelm2-beta"},
    {"counted with --enable-hetero or --peft-type alone",
     "hetero-device-types hetero-current-device-type hetero-pipeline-layer-split "
     "hetero-process-meshes expert-tensor-parallel-size-per-process-mesh "
     "hetero-use-cpu-communication lora-dim lora-alpha lora-dropout:share lora-dropout-position "
     "lora-in-init-method lora-out-init-method lora-target-modules"},
};

constexpr Flag primus_table[] = {
    {"--enable-primus-turbo", none, unmodelled, "runtime.kernels", "kernels of Primus-Turbo"},
    {"--use-turbo-attention", none, unmodelled, "training.attention", "the kernel of Primus-Turbo"},
    {"--use-turbo-gemm", none, unmodelled, "runtime.kernels", "products of Primus-Turbo"},
    {"--use-turbo-grouped-gemm", none, unmodelled, "moe.experts", "products of Primus-Turbo"},
    {"--turbo-grouped-gemm-without-padding", none, unmodelled, "moe.row_padding",
     "rows without copies"},
    {"--use-turbo-fused-act-with-probs", none, unmodelled, "runtime.kernels.activation",
     "the router's weights inside the activation"},
    {"--use-turbo-rms-norm", none, unmodelled, "runtime.kernels.norm",
     "the kernel of Primus-Turbo"},
    {"--use-turbo-norm-te-linear", none, unmodelled, "runtime.kernels.norm",
     "the kernel of Primus-Turbo"},
    {"--use-turbo-autotune", none, unmodelled, "runtime.kernels", "products that are tuned"},
    {"--moe-use-fused-router-with-aux-score", none, taken, "runtime.kernels.router", "fused"},
    {"--use-sink-attention", none, refused, "model.attention.window", "windows with sinks"},
    {"--enable-turbo-attention-float8", none, refused, "training.fp8_recipe", "attention in FP8"},
    {"--use-turbo-deepep", none, refused, "moe.dispatch",
     "DeepEP of Primus-Turbo; give --set moe.dispatch=two_hop_dedup"},
    {"--use-turbo-mega-moe", none, refused, "moe.dispatcher", "experts and exchange in one kernel"},
    {"--turbo-sync-free-moe-stage", one, refused, "moe.dispatcher",
     "a dispatcher that never asks the host", false, "0"},
    {"--patch-moe-overlap", none, refused, "moe.overlap", "an overlap of Primus' own"},
    {"--patch-zero-bubble", none, refused, "schedule.pipeline",
     "zero-bubble schedules; give --set schedule.pipeline=zb_v or another"},
    {"--patch-primus-pipeline", none, refused, "schedule.pipeline", "schedules of Primus' own"},
    {"--decoder-pipeline-manual-split-list", any, refused, "parallel.layers_per_chunk",
     "layers of each chunk; give them as a table"},
    {"--data-parallel-replicate-degree", one, refused, "parallel.dp_replicate",
     "replicas of sharded groups", false, "1"},
    {"--enable-odc", none, refused, "communication.algorithm.reduce_scatter",
     "reductions from device to device"},
    {"--recompute-layer-ids", any, refused, "training.recompute",
     "layers by number; give a table with --set training.recompute"},
    {"--lfm-layer-types", any, refused, "model.attention.kind", "layers of convolutions"},
    {"--enable", none, refused, "runtime.fusion", "torch.compile of the layers"},
    {"--attn-logit-softcapping", one, unmodelled, "training.attention",
     "a function of the scores inside the kernel"},
    {"--final-logit-softcapping", one, unmodelled, "training.cross_entropy",
     "a function of the logits"},
    {"--router-logit-softcapping", one, unmodelled, "moe.router", "a function of its logits"},
    {"--no-fp8-weight-transpose-cache", none, unmodelled, "training.fp8_recipe",
     "transposed weights that are not kept"},
    {"--use-deprecated-20241209-moe-layer", none, unmodelled, "moe.dispatcher",
     "a layer of December 2024"},
    {"--qk-l2-norm", none, unmodelled, "model.qk_norm", "norms without weights"},
};

constexpr IgnoredFlags primus_ignored_table[] = {
    {"runs, logs, checkpoints, data",
     "log-avg-skip-iterations log-avg-reset-interval stderr-sink-level file-sink-level "
     "sink-level auto-continue-train disable-last-saving trainable mmap-bin-files "
     "mock-dataset class params num-samples image-size dump-pp-data wall-clock-step-timer "
     "disable-tensorboard disable-wandb disable-mlflow mlflow-run-name mlflow-experiment-name "
     "mlflow-upload-traces mlflow-upload-logs mlflow-upload-tracelens-report "
     "mlflow-tracelens-ranks mlflow-tracelens-output-format mlflow-upload-performance-metrics "
     "mlflow-tracelens-cleanup-after-upload mlflow-tracelens-auto-install "
     "generate-tracelens-report disable-compile-dependencies "
     "use-rocm-mem-info use-rocm-mem-info-iters disable-profiler-activity-cpu "
     "torch-profiler-record-shapes torch-profiler-with-stack torch-profiler-use-gzip "
     "check-for-spiky-loss check-for-large-grads batch-size bert-binary-head onnx-safe "
     "dataloader-mp-context weight-deosc weight-deosc-period weight-deosc-ratio "
     "weight-deosc-start-step weight-deosc-log-freq moe-router-force-load-balancing-type "
     "disable-primus-topk-router pp-warmup profile-memory-iter"},
    {"of schedules, kernels and compilation that a switch turns on",
     "debug-scheduler-table enable-zb-runtime pre-communication-optimization "
     "zero-bubble-pipeline-timers-start-iter zero-bubble-pipeline-timers-end-iter "
     "zero-bubble-max-pending-backward zero-bubble-adaptive-memory-limit-percentile "
     "enable-optimizer-post-validation enable-exactly-numeric-match enable-zero-bubble "
     "zero-bubble-v-schedule zero-bubble-v-schedule-mem-setup enable-1f1b-v "
     "allow-padding-num-layers interleave-group-size offload-chunk-num offload-time "
     "auto-offload-time offload-overlap-sr num-seq-splits pp-algorithm communication-method "
     "offload-ops pp-max-mem pp-cost-f pp-cost-b pp-cost-w backend fullgraph mode "
     "turbo-gemm-backend turbo-grouped-gemm-backend mxfp4-gradient-stochastic-rounding "
     "sink-sliding-window sink-window-even-layers-only turbo-deepep-num-cu "
     "turbo-deepep-use-comm-stream turbo-mega-moe-precision conv-L-cache "
     "odc-phase odc-grad-spike-threshold odc-p2p-backend odc-mori-init odc-max-buffer-size "
     "odc-rocshmem-gda odc-rocshmem-lib odc-gda-rs-blocks odc-gda-pipe odc-gda-defer-reduce "
     "odc-gda-warmup-mode odc-gda-stride-bytes"},
};

}  // namespace

std::span<const Flag> flagscale_flags() { return flagscale_table; }
std::span<const IgnoredFlags> flagscale_ignored() { return flagscale_ignored_table; }
std::span<const Flag> primus_flags() { return primus_table; }
std::span<const IgnoredFlags> primus_ignored() { return primus_ignored_table; }

}  // namespace stepcast::launch
