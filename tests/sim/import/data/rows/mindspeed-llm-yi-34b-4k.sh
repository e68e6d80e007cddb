#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 60 --hidden-size 7168 --ffn-hidden-size 20480 --num-attention-heads 56 \
  --group-query-attention --num-query-groups 8 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 64000 \
  --tensor-model-parallel-size 8 \
  --pipeline-model-parallel-size 2 \
  --sequence-parallel \
  --seq-length 4096 --micro-batch-size 2 --global-batch-size 1024 \
  --bf16 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-rotary-pos-emb \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --use-mc2 --swiglu
