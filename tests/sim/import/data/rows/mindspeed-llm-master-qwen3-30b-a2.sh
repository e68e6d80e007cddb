#!/bin/bash
cd MindSpeed-LLM-2.3.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 4 \
  --kv-channels 128 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --qk-layernorm \
  --padded-vocab-size 151936 \
  --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 \
  --pipeline-model-parallel-size 2 \
  --expert-model-parallel-size 8 \
  --use-distributed-optimizer \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 \
  --bf16 \
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-swiglu \
  --use-fused-rotary-pos-emb \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --gemm-gradient-accumulation-fusion \
  --moe-token-dispatcher-type alltoall_seq \
  --moe-grouped-gemm \
  --moe-router-load-balancing-type aux_loss \
  --moe-aux-loss-coeff 0.001 --swiglu
