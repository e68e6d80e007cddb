#!/bin/bash
cd Megatron-LM-core_r0.14.0
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 16 pretrain_gpt.py \
  --num-layers 56 --hidden-size 6144 --ffn-hidden-size 16384 --num-attention-heads 48 \
  --group-query-attention --num-query-groups 8 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 32000 \
  --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 16384 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 8 \
  --expert-model-parallel-size 8 \
  --expert-tensor-parallel-size 1 \
  --num-layers-per-virtual-pipeline-stage 1 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --overlap-grad-reduce \
  --overlap-param-gather \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 \
  --bf16 --fp8-format hybrid \
  --fp8-recipe blockwise \
  --hidden-dropout 0.0 \
  --attention-dropout 0.0 \
  --moe-grouped-gemm \
  --moe-permute-fusion \
  --moe-router-load-balancing-type aux_loss \
  --moe-aux-loss-coeff 1e-3 \
  --moe-token-dispatcher-type alltoall \
  --cross-entropy-loss-fusion --cross-entropy-fusion-impl native \
  --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 \
  --moe-router-fusion \
  --moe-router-force-load-balancing \
  --fp8-param-gather \
  --moe-router-padding-for-fp8 --swiglu
