#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 8 --hidden-size 12288 --ffn-hidden-size 49152 --num-attention-heads 96 \
  --normalization LayerNorm \
  --position-embedding-type learned_absolute --max-position-embeddings 2048 \
  --padded-vocab-size 50304 \
  --tensor-model-parallel-size 8 \
  --sequence-parallel \
  --seq-length 2048 --micro-batch-size 1 --global-batch-size 64 \
  --fp16 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-rotary-pos-emb \
  --no-bias-gelu-fusion \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --use-mc2
