#!/bin/bash
cd Megatron-LM-core_r0.11.0
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py \
  --num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 --num-attention-heads 28 \
  --group-query-attention --num-query-groups 4 \
  --normalization RMSNorm \
  --disable-bias-linear \
  --add-qkv-bias \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --padded-vocab-size 151936 \
  --num-experts 64 --moe-router-topk 8 --moe-ffn-hidden-size 2560 \
  --moe-shared-expert-intermediate-size 20480 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 4 \
  --expert-model-parallel-size 4 \
  --expert-tensor-parallel-size 1 \
  --num-layers-per-virtual-pipeline-stage 1 \
  --sequence-parallel \
  --use-distributed-optimizer \
  --overlap-grad-reduce \
  --overlap-param-gather \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 256 \
  --bf16 \
  --hidden-dropout 0.0 \
  --attention-dropout 0.0 \
  --moe-grouped-gemm \
  --moe-permute-fusion \
  --moe-router-load-balancing-type aux_loss \
  --moe-aux-loss-coeff 1e-3 \
  --moe-token-dispatcher-type alltoall \
  --moe-shared-expert-overlap \
  --moe-expert-capacity-factor 1.0 \
  --moe-pad-expert-input-to-capacity --swiglu
