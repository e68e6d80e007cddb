#include "random_scenario.hpp"
#include "stepcast/scheduler/stage_order.hpp"

namespace stepcast::laws {

const std::vector<std::string>& all_features() {
  static const std::vector<std::string> features = [] {
    std::vector<std::string> all;
    for (const PipelineSchedule& s : pipeline_schedules())
      all.push_back("schedule " + std::string(s.name));
    for (const char* name :
         {"model given", "model dense", "model experts", "model latent",
          "library hccl", "library nccl", "topology single_switch", "topology leaf_spine",
          "topology rail_optimized", "node kinds", "fabric mesh", "fabric switch", "fabric groups",
          "nic per device", "nic per node", "super-node", "p2p blocking", "post_validation true",
          "put_off", "warmup", "slices equal", "slices balanced", "slices written",
          "recompute none", "recompute selective", "recompute full", "recompute table",
          "attention fused", "attention flash_1", "attention unfused", "unfused slices",
          "precision fp8_mixed", "cross_entropy fused", "dropout true", "update_memory tensor",
          "update_memory flat", "offload activations", "offload optimizer true",
          "offload experts", "attention_head 128", "zero 0", "zero 1", "zero 2", "zero 3",
          "sequence_parallel true", "cp ring", "cp ulysses", "cp allgather", "cp hybrid", "order",
          "layers auto", "layers even", "layers table", "layers even in two directions",
          "documents", "mask document", "packing attention_aware", "host eager",
          "host task_queue", "host graph_sink", "fusion pattern", "fusion dvm", "kernels unfused",
          "optimizer elementwise", "compile misses", "etp", "dispatch flat", "dispatch two_hop",
          "dispatch two_hop_dedup", "dispatch hierarchical_allgather", "dispatch allgather",
          "overlap none", "overlap shared_expert", "overlap chunks", "overlap tiles",
          "overlap fb_pair", "routing zipf", "routing random", "capacity", "placement balanced",
          "wire fp8", "permutation indexed", "experts sequential", "gradient bf16",
          "accumulation separate", "gradient overlap false", "bucket", "tensor overlap chunks",
          "scatter_gather true", "named algorithms", "degraded links", "failed nic",
          "failed mesh link", "failed leaf ports", "slow devices", "slow hosts", "throttling",
          "jitter", "gc pauses", "allocator pauses", "data loader", "checkpoint",
          "host_sync step", "host_sync unit", "steps 3", "network pairwise"})
      all.emplace_back(name);
    return all;
  }();
  return features;
}

}  // namespace stepcast::laws
