# Megatron-DeepSpeed, 2021
cat <<JSON > ds_config.json
{
  "train_micro_batch_size_per_gpu": 2,
  "train_batch_size": 1024,
  "gradient_clipping": 1.0,
  "zero_optimization": {"stage": 0},
  "fp16": {"enabled": true},
  "steps_per_print": 2000
}
JSON
deepspeed --num_nodes 32 --num_gpus 8 pretrain_gpt.py \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 1 \
  --num-layers 40 --hidden-size 6144 --num-attention-heads 48 \
  --seq-length 2048 --max-position-embeddings 2048 \
  --micro-batch-size 2 --global-batch-size 1024 --vocab-size 51200 \
  --fp16 --checkpoint-activations --loss-scale 12 --init-method-std 0.0048 \
  --deepspeed --deepspeed_config ds_config.json --zero-stage 0 \
  --deepspeed-activation-checkpointing 
