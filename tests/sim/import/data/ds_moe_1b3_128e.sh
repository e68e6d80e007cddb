#!/bin/bash
# GPT 1.3B with 128 experts: every second layer has them.
SEQ_LEN=2048
MODEL_SIZE=1.3
NUM_GPUS=64
EP_SIZE=128
if [[ $EP_SIZE -gt $NUM_GPUS ]]; then
    EP_PARALLEL_SIZE=$NUM_GPUS
else
    EP_PARALLEL_SIZE=$EP_SIZE
fi
megatron_options=" \
        --tensor-model-parallel-size 1 \
        --pipeline-model-parallel-size 1 \
        --no-pipeline-parallel \
        --moe-expert-parallel-size ${EP_PARALLEL_SIZE} \
        --num-experts ${EP_SIZE} \
        --moe-loss-coeff 0.01 \
        --moe-train-capacity-factor 1.0 \
        --moe-eval-capacity-factor 1.0 \
        --moe-min-capacity 4 \
        --micro-batch-size 8 \
        --global-batch-size 512 \
        --num-layers 24 \
        --hidden-size 2048 \
        --num-attention-heads 16 \
        --seq-length ${SEQ_LEN} \
        --max-position-embeddings ${SEQ_LEN} \
        --vocab-size 50257 \
        --bf16"
deepspeed_options=" \
        --deepspeed \
        --deepspeed_config ds_moe_template.json \
        --pipeline-model-parallel-size 1"
deepspeed --num_nodes 8 --num_gpus 8 pretrain_gpt.py ${megatron_options} ${deepspeed_options}
