# Megatron-DeepSpeed of BigScience, 2022
cat <<JSON > ds_config.json
{
  "train_micro_batch_size_per_gpu": 4,
  "train_batch_size": 2048,
  "gradient_clipping": 1.0,
  "zero_optimization": {"stage": 1},
  "fp16": {"enabled": true},
  "steps_per_print": 2000
}
JSON
deepspeed --num_nodes 48 --num_gpus 8 pretrain_gpt.py \
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 12 \
  --num-layers 72 --hidden-size 14336 --num-attention-heads 64 \
  --seq-length 2048 --max-position-embeddings 2048 \
  --micro-batch-size 4 --global-batch-size 2048 --vocab-size 250880 \
  --fp16 --checkpoint-activations --loss-scale 12 --init-method-std 0.0048 \
  --deepspeed --deepspeed_config ds_config.json --zero-stage 1 \
  --deepspeed-activation-checkpointing 
