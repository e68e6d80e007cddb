#pragma once
#include <vector>

#include "stage_weights.hpp"
#include "stepcast/workloads/caching_allocator.hpp"

/// The tensors that DeepSpeed's optimizers make, in their order (docs/models/memory.md, "What an
/// allocator keeps").
namespace stepcast {

inline std::int64_t single_weight(std::int64_t half) { return 2 * half; }  ///< bytes in FP32

/// Of `training.update_memory: flat` the optimizers with FP16, of `communication.gradient.kept:
/// both` that with BF16; of others none, as main gradients and states stay.
class ReplayedUpdate {
 public:
  using Handle = CachingAllocator::Handle;

  ReplayedUpdate(const WorkloadSpec& spec, const StageWeights& weights);

  /// What is made and given back before the first step.
  void prepare(CachingAllocator& memory) const;
  /// `gradients`: in the order in which they were made; those that the update joins are given back.
  void run(CachingAllocator& memory, std::vector<Handle>& gradients) const;
  /// Whether it does.
  bool joins() const { return flat_; }

 private:
  void reduce(CachingAllocator& memory) const;
  void join_share(CachingAllocator& memory, std::vector<Handle>& gradients) const;
  void join_all(CachingAllocator& memory, std::vector<Handle>& gradients) const;
  void gather(CachingAllocator& memory) const;
  std::int64_t share() const { return weights_.all / replicas_; }

  const StageWeights& weights_;
  bool both_, flat_, sharded_, checks_, half_copy_;
  std::int64_t replicas_;  ///< that share the update out
  std::int64_t bucket_;    ///< elements
};

}  // namespace stepcast
