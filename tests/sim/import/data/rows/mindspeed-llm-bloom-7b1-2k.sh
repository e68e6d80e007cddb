#!/bin/bash
cd MindSpeed-LLM-1.0.RC1  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 30 --hidden-size 4096 --ffn-hidden-size 16384 --num-attention-heads 32 \
  --normalization LayerNorm \
  --position-embedding-type none \
  --padded-vocab-size 250880 \
  --tensor-model-parallel-size 8 \
  --sequence-parallel \
  --seq-length 2048 --micro-batch-size 4 --global-batch-size 512 \
  --bf16 \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion
