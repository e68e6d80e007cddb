#!/bin/bash
cd MindSpeed-LLM-1.0.0  # HCCL_CONNECT_TIMEOUT is 1800
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 27 --hidden-size 2048 --ffn-hidden-size 10944 --num-attention-heads 16 \
  --multi-latent-attention --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 102400 \
  --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 \
  --moe-layer-freq '([0]*1+[1]*26)' \
  --n-shared-experts 2 \
  --expert-model-parallel-size 8 \
  --use-distributed-optimizer \
  --seq-length 8192 --micro-batch-size 1 --global-batch-size 8 \
  --bf16 \
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
  --use-flash-attn \
  --use-fused-rmsnorm \
  --use-fused-swiglu \
  --use-fused-rotary-pos-emb \
  --attention-dropout 0.0 \
  --hidden-dropout 0.0 \
  --no-gradient-accumulation-fusion \
  --moe-router-load-balancing-type pai_megatron_aux_loss \
  --moe-aux-loss-coeff 0.01 --swiglu
