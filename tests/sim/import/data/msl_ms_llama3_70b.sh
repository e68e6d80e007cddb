#!/bin/bash
export HCCL_CONNECT_TIMEOUT=1200
NPUS_PER_NODE=8
NNODES=4
WORLD_SIZE=$((NPUS_PER_NODE * NNODES))
DISTRIBUTED_ARGS="
    --master_addr=localhost \
    --local_worker_num=$NPUS_PER_NODE \
    --worker_num=$WORLD_SIZE \
    --log_dir=msrun_log
"
GPT_ARGS="
    --ai-framework mindspore \
    --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 4 \
    --sequence-parallel \
    --use-flash-attn \
    --use-fused-rmsnorm \
    --use-fused-swiglu \
    --use-fused-rotary-pos-emb \
    --num-layers 80 \
    --num-layer-list 17,20,22,21 \
    --hidden-size 8192 \
    --ffn-hidden-size 28672 \
    --num-attention-heads 64 \
    --group-query-attention \
    --num-query-groups 8 \
    --seq-length 8192 \
    --max-position-embeddings 8192 \
    --micro-batch-size 1 \
    --global-batch-size 512 \
    --make-vocab-size-divisible-by 16032 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --position-embedding-type rope \
    --normalization RMSNorm \
    --swiglu \
    --attention-dropout 0.0 \
    --hidden-dropout 0.0 \
    --no-gradient-accumulation-fusion \
    --bf16
"
msrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS --distributed-backend nccl
