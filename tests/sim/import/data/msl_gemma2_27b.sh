#!/bin/bash
# Refused: sliding windows.
NPUS_PER_NODE=8
NNODES=2
torchrun --nproc_per_node $NPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py --num-layers 46 --hidden-size 4608 --num-attention-heads 32 \
  --use-flash-attn --use-fused-rmsnorm --group-query-attention --num-query-groups 16 --kv-channels 128 --ffn-hidden-size 36864 --geglu --padded-vocab-size 256000 --seq-length 8192 \
  --num-layer-list 20,26 --interleave-sliding-window 4096 --post-norm --disable-bias-linear --normalization RMSNorm --position-embedding-type rope \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --sequence-parallel --micro-batch-size 1 --global-batch-size 64 --hidden-dropout 0.0 --bf16
