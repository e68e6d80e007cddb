#!/bin/bash
export CPU_AFFINITY_CONF=1
export HCCL_ALGO="alltoall=level0:NA;level1:pipeline"
export HCCL_BUFFSIZE=400
NPUS_PER_NODE=16
MASTER_ADDR=localhost #address of the first node
NNODES=16
TP=4
PP=4
EP=16
CP=1
CP_TYPE='ulysses_cp_algo'
NUM_LAYERS=80
SEQ_LEN=4096
DISTRIBUTED_ARGS="
    --nproc_per_node $NPUS_PER_NODE \
    --nnodes $NNODES
"
GQA_ARGS="
    --qk-layernorm \
    --group-query-attention \
    --num-query-groups 8 \
    --num-attention-heads 64 \
"
MOE_ARGS="
    --moe-tp-extend-ep \
    --moe-layer-freq 1 \
    --moe-grouped-gemm \
    --num-experts 256 \
    --first-k-dense-replace 4 \
    --n-shared-experts 1 \
    --moe-ffn-hidden-size 2048 \
    --moe-router-topk 8 \
    --moe-router-enable-expert-bias \
    --moe-router-num-groups 8 \
    --moe-router-group-topk 4 \
    --router-gating-in-fp32 \
    --moe-permutation-async-comm \
    --moe-token-dispatcher-type alltoall_seq \
    --moe-alltoall-overlap-comm \
"
GPT_ARGS="
    --hidden-size 8192 \
    --kv-channels 128 \
    --ffn-hidden-size 18432 \
    --vocab-size 157184 \
    --padded-vocab-size 157184 \
    --swiglu \
    --use-flash-attn \
    --disable-bias-linear \
    --normalization RMSNorm \
    --position-embedding-type rope \
    --use-rotary-position-embeddings \
    --untie-embeddings-and-output-weights \
    --bf16 \
    --use-fused-swiglu \
    --use-fused-rmsnorm \
    --use-fused-rotary-pos-emb \
    --use-distributed-optimizer \
    --attention-dropout 0.0 \
    --hidden-dropout 0.0 \
    --num-layers ${NUM_LAYERS} \
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size ${PP} \
    --expert-model-parallel-size ${EP} \
    --context-parallel-size ${CP} \
    --context-parallel-algo ${CP_TYPE} \
    --sequence-parallel \
    --seq-length ${SEQ_LEN}
"
MEM_ARGS="
    --micro-batch-size 1 --global-batch-size 128 \
    --swap-optimizer \
    --recompute-granularity full \
    --recompute-method uniform \
    --recompute-num-layers 1 \
"
python -m torch.distributed.launch $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS $GQA_ARGS $MOE_ARGS $MEM_ARGS | tee log
