#!/bin/bash
# Options by case and shift, stages as many as devices, sliding windows.
while [[ $# -gt 0 ]]; do
    case $1 in
        --nodes)
            NUM_NODES="$2"
            shift 2
            ;;
        *)
            echo "unknown $1"
            exit 1
            ;;
    esac
done
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-1}
WORLD_SIZE=$((GPUS_PER_NODE*NUM_NODES))
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
    --num-layers 12 --hidden-size 512 --num-attention-heads 64 --group-query-attention --num-query-groups 8 \
    --kv-channels 8 --ffn-hidden-size 2048 --seq-length 8192 --max-position-embeddings 8192 --swiglu \
    --num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 2048 --moe-token-dispatcher-type alltoall --moe-grouped-gemm \
    --window-size 127,0 --window-attn-skip-freq 2 --normalization RMSNorm --disable-bias-linear --position-embedding-type rope \
    --untie-embeddings-and-output-weights --hidden-dropout 0.0 --vocab-size 128256 --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --tensor-model-parallel-size 1 --pipeline-model-parallel-size ${WORLD_SIZE} --sequence-parallel --mtp-num-layers 1
