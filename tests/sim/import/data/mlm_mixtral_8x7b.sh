#!/bin/bash
# Mixtral 8x7B over arrays of arguments, unquoted.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS=8
NODES=${SLURM_NNODES:-"1"}
RANK=${RANK:-"0"}
ALL=$(($GPUS*$NODES))
CKPT=$1
TOKENS=$2

LAUNCH=(
    --nproc_per_node $GPUS
    --nnodes $NODES
    --node_rank $RANK
)
MODEL=(
    --use-mcore-models
    --disable-bias-linear
    --seq-length 4096
    --max-position-embeddings 32768
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --init-method-std 0.01
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --normalization RMSNorm
    --position-embedding-type rope
    --swiglu
    --untie-embeddings-and-output-weights
    --group-query-attention
    --num-query-groups 8
    --no-masked-softmax-fusion
    --rotary-base 1000000
)
EXPERTS=(
    --num-experts 8
    --moe-router-topk 2
    --moe-router-load-balancing-type aux_loss
    --moe-aux-loss-coeff 1e-2
    --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall
    --overlap-param-gather
    --overlap-grad-reduce
)
DATA=(
    --tokenizer-type Llama2Tokenizer
    --tokenizer-model ${TOKENS}
    --mock-data
    #--data-path $DATA_PATH
    --split 99990,8,2
)
TRAIN=(
    --micro-batch-size 1
    --global-batch-size 256
    --lr 1e-4
    --train-iters 500000
    --bf16
)
PLAN=(
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 4
    --expert-model-parallel-size 8
    --use-distributed-optimizer
    --sequence-parallel
)
LOGS=(
    --log-interval 1 \
    --save-interval 10000 \
    --eval-iters 10 \
    --no-load-optim \
    --no-load-rng
)
if [ -n "${WANDB_API_KEY}" ]; then
    LOGS+=(
        --wandb-project ${WANDB_PROJECT:-"Mixtral"}
    )
fi

torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    ${EXPERTS[@]} \
    ${DATA[@]} \
    ${TRAIN[@]} \
    ${PLAN[@]} \
    ${LOGS[@]}
