#!/bin/bash
export TASK_QUEUE_ENABLE=1
export HCCL_CONNECT_TIMEOUT=1800
NPUS_PER_NODE=16
NNODES=1
TP=4
PP=4
ARGS="--num-layers 64 --hidden-size 5120 --ffn-hidden-size 27648 --num-attention-heads 80 --group-query-attention --num-query-groups 8 \
--kv-channels 128 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 32 --add-qkv-bias --disable-bias-linear \
--padded-vocab-size 155136 --make-vocab-size-divisible-by 1 --untie-embeddings-and-output-weights --position-embedding-type rope --normalization RMSNorm \
--swiglu --use-flash-attn --use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb --use-distributed-optimizer --hidden-dropout 0.0 \
--attention-dropout 0.0 --no-gradient-accumulation-fusion --bf16"
torchrun --nproc_per_node=$NPUS_PER_NODE --nnodes=$NNODES pretrain_gpt.py $ARGS \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP
