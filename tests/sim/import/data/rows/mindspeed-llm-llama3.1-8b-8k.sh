#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 128256 \
  --tensor-model-parallel-size 8 \
  --sequence-parallel \
  --seq-length 8192 --micro-batch-size 2 --global-batch-size 64 \
  --bf16 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-swiglu \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --swiglu
