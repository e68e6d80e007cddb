#!/bin/bash
# Refused: recomputation of whole layers beside the pair of forward and backward.
export HCCL_ALGO="alltoall=level0:NA;level1:pipeline"
NPUS_PER_NODE=8
NNODES=64
ARGS="--num-layers 64 --noop-layers 61,62,63 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --multi-latent-attention \
--q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm --num-experts 256 --moe-router-topk 8 \
--moe-ffn-hidden-size 2048 --n-shared-experts 1 --first-k-dense-replace 3 --moe-layer-freq 1 --moe-grouped-gemm --moe-token-dispatcher-type alltoall \
--moe-tp-extend-ep --mtp-num-layers 1 --seq-length 4096 --micro-batch-size 1 --global-batch-size 3840 --padded-vocab-size 129280 \
--tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 --expert-model-parallel-size 8 --sequence-parallel --schedules-method dualpipev \
--dualpipev-dw-detach --use-flash-attn --use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb --swiglu --normalization RMSNorm \
--disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --hidden-dropout 0.0 --use-distributed-optimizer \
--use-ascend-coc --swap-optimizer --bf16 --no-gradient-accumulation-fusion"
OVERLAP="--moe-fb-overlap --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
torchrun --nproc_per_node $NPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py $ARGS $OVERLAP
