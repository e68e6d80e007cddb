#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 --num-attention-heads 40 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 32000 \
  --tensor-model-parallel-size 8 \
  --sequence-parallel \
  --seq-length 4096 --micro-batch-size 4 --global-batch-size 512 \
  --bf16 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-swiglu \
  --use-fused-rotary-pos-emb \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --use-mc2 --swiglu
