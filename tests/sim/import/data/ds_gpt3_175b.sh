#!/bin/bash
# GPT-3 175B with ZeRO 3: the JSON is written by the script.
num_nodes=${NUM_NODES:-64}
hidden_size=12288
num_attn_heads=96
num_layers=96
seq_length=1024
ZERO_STAGE=3
DS_CONFIG=ds_config_zero.json
train_batch_size=32
micro_batch_size=4
GRAD_ACC=1

cat <<CONF > $DS_CONFIG
{
  "train_batch_size": $train_batch_size,
  "train_micro_batch_size_per_gpu": $micro_batch_size,
  "steps_per_print": 1,
  "gradient_clipping": 1.0,
  "zero_optimization": {
    "stage": $ZERO_STAGE,
    "stage3_max_live_parameters": 3e9,
    "stage3_max_reuse_distance": 3e9,
    "stage3_param_persistence_threshold": 1e5,
    "stage3_prefetch_bucket_size": 5e7,
    "contiguous_gradients": true,
    "overlap_comm": true,
    "reduce_bucket_size": 90000000,
    "sub_group_size": 1e9,
    "offload_optimizer": {"device": "none", "buffer_count": 4, "pipeline_read": false, "pin_memory": true}
  },
  "fp16": {"enabled": true, "initial_scale_power": 15, "loss_scale_window": 1000, "hysteresis": 2, "min_loss_scale": 1},
  "wall_clock_breakdown": true,
  "zero_allow_untested_optimizer": false
}
CONF

deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py \
  --no-pipeline-parallel \
  --tensor-model-parallel-size 1 \
  --num-layers $num_layers \
  --hidden-size $hidden_size \
  --num-attention-heads $num_attn_heads \
  --seq-length $seq_length \
  --max-position-embeddings $seq_length \
  --micro-batch-size $micro_batch_size \
  --global-batch-size $train_batch_size \
  --vocab-size 50257 \
  --train-iters 50 \
  --lr 2.0e-4 --min-lr 1.0e-5 --lr-decay-style cosine \
  --weight-decay 0.1 --clip-grad 1.0 --adam-beta1 0.9 --adam-beta2 0.95 \
  --log-interval 1 --eval-iters 0 --eval-interval 1000 --save-interval 1000 \
  --tokenizer-type NullTokenizer \
  --checkpoint-activations \
  --deepspeed-activation-checkpointing \
  --fp16 \
  --deepspeed \
  --deepspeed_config $DS_CONFIG \
  --zero-stage $ZERO_STAGE
