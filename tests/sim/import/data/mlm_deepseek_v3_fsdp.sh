#!/bin/bash
# The command is a string that a document for the batch system runs.
MODEL=${MODEL:-deepseek_v3}
TP=${TP:-1}
EP=${EP:-8}
MBS=${MBS:-4}
GBS=${GBS:-2048}
RUN_DIR=${RUN_DIR:-runs}
PARAMS="--tensor-model-parallel-size ${TP} --expert-model-parallel-size ${EP} --expert-tensor-parallel-size 1 \
--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --no-gradient-accumulation-fusion \
--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 \
--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
--num-experts 256 --moe-layer-freq [0]*3+[1]*58 --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 \
--moe-router-topk 8 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep --moe-grouped-gemm --moe-permute-fusion \
--seq-length 4096 --micro-batch-size ${MBS} --global-batch-size ${GBS} --swiglu --normalization RMSNorm --disable-bias-linear \
--position-embedding-type rope --untie-embeddings-and-output-weights --hidden-dropout 0.0 --mtp-num-layers 1 --bf16 \
--recompute-granularity selective --recompute-modules mlp moe mla_up_proj layernorm --make-vocab-size-divisible-by 3232"
run_cmd="cd ${RUN_DIR}; python pretrain_gpt.py ${PARAMS}"
sbatch <<EOS
#!/bin/bash
srun --mpi=pmix -l \
    sh -c "${run_cmd}"
EOS
