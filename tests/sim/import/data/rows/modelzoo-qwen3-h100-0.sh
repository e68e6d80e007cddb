#!/bin/bash
cd Megatron-LM-core_r0.12.0
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 32 pretrain_gpt.py \
  --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64 \
  --group-query-attention --num-query-groups 4 \
  --kv-channels 128 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --qk-layernorm \
  --padded-vocab-size 151936 \
  --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 8 \
  --expert-model-parallel-size 32 \
  --expert-tensor-parallel-size 1 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --overlap-grad-reduce \
  --overlap-param-gather \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 2048 \
  --bf16 \
  --recompute-granularity selective --recompute-modules layernorm moe_act \
  --hidden-dropout 0.0 \
  --moe-grouped-gemm \
  --moe-permute-fusion \
  --moe-router-dtype fp32 \
  --moe-router-load-balancing-type global_aux_loss \
  --moe-aux-loss-coeff 1e-3 \
  --moe-token-dispatcher-type flex \
  --moe-enable-deepep \
  --account-for-embedding-in-pipeline-split \
  --account-for-loss-in-pipeline-split \
  --num-virtual-stages-per-pipeline-rank 4 --swiglu
