#!/bin/bash
# Refused: an indexer. Its no-op layers leave a chunk without layers.
NPUS_PER_NODE=16
NNODES=32
ARGS="--num-layers 64 --noop-layers 7,62,63 --num-layers-per-virtual-pipeline-stage 2 --hidden-size 7168 --ffn-hidden-size 18432 \
--num-attention-heads 128 --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
--enable-dsa-indexer --index-topk 1024 --num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 --n-shared-experts 1 \
--first-k-dense-replace 3 --moe-layer-freq 1 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --moe-tp-extend-ep --mtp-num-layers 1 \
--seq-length 4096 --micro-batch-size 1 --global-batch-size 7680 --padded-vocab-size 129280 --tensor-model-parallel-size 4 \
--pipeline-model-parallel-size 8 --expert-model-parallel-size 16 --sequence-parallel --use-flash-attn --use-fused-rmsnorm --swiglu \
--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope --hidden-dropout 0.0 --bf16 \
--use-distributed-optimizer --swap-optimizer"
torchrun --nproc_per_node $NPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py $ARGS
