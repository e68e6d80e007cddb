#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 46 --hidden-size 4608 --ffn-hidden-size 36864 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 16 \
  --kv-channels 128 \
  --interleave-sliding-window 4096 \
  --normalization RMSNorm \
  --post-norm \
  --disable-bias-linear \
  --position-embedding-type rope \
  --padded-vocab-size 256000 \
  --tensor-model-parallel-size 8 \
  --pipeline-model-parallel-size 2 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --seq-length 8192 --micro-batch-size 1 --global-batch-size 64 \
  --bf16 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-rotary-pos-emb \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --gelu-tanh \
  --num-layer-list 20,26 \
  --use-mc2
