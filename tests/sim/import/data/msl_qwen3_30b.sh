#!/bin/bash
source ./env_config.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
NPUS_PER_NODE=8
NNODES=2
TP=1
PP=2
EP=8
DISTRIBUTED_ARGS="--nproc_per_node $NPUS_PER_NODE --nnodes $NNODES"
MOE_ARGS="
    --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall_seq \
    --moe-permutation-async-comm \
    --num-experts 128 \
    --moe-router-topk 8 \
    --moe-ffn-hidden-size 768 \
    --moe-layer-freq -1 \
    --first-k-dense-replace -1 \
    --norm-topk-prob
"
GPT_ARGS="
    --use-mcore-models --use-flash-attn --use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size ${PP} --expert-model-parallel-size ${EP} \
    --sequence-parallel \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 \
    --kv-channels 128 --group-query-attention --num-query-groups 4 --qk-layernorm \
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 \
    --padded-vocab-size 151936 --make-vocab-size-divisible-by 1 --position-embedding-type rope \
    --normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights \
    --attention-dropout 0.0 --hidden-dropout 0.0 --use-distributed-optimizer --no-gradient-accumulation-fusion --bf16
"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS $MOE_ARGS --distributed-backend nccl | tee log
