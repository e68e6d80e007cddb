# Variables that a script beside it sources.
export TASK_QUEUE_ENABLE=2
export HCCL_CONNECT_TIMEOUT=3600
