#include "replayed_update.hpp"

#include <algorithm>

#include "stepcast/workloads/states.hpp"

namespace stepcast {
namespace {

constexpr auto half = static_cast<std::int64_t>(half_bytes);
constexpr std::int64_t single = 2 * half, twice = 4 * half;  // FP32, FP64

}  // namespace

ReplayedUpdate::ReplayedUpdate(const WorkloadSpec& spec, const StageWeights& weights)
    : weights_{weights},
      both_{spec.communication.gradients_kept == CommunicationSpec::Kept::both},
      flat_{spec.training.update_memory == TrainingSpec::UpdateMemory::flat},
      sharded_{spec.plan.zero > 0},
      checks_{spec.runtime.passes(UpdatePass::check)},
      half_copy_{spec.communication.reduce_copy == CommunicationSpec::ReduceCopy::bf16},
      replicas_{spec.plan.zero > 0 ? spec.plan.dense_shards() : 1},
      bucket_{spec.communication.bucket.value_or(0)} {}

// bf16_optimizer.py makes one flat tensor of all weights, and frees those that the model was made
// of; fused_optimizer.py does so by way of copies; stage_1_and_2.py brings them to the host before.
// FP32 weights come from a copy, and moments from an update with gradients of zeros.
void ReplayedUpdate::prepare(CachingAllocator& memory) const {
  if (!both_ && !flat_) return;
  std::vector<Handle> made;
  for (int copies = both_ ? 1 : sharded_ ? 0 : 2; copies > 0; --copies)
    for (const std::int64_t weight : weights_.bytes) made.push_back(memory.allocate(weight));
  memory.release(made);
  memory.touch(share());
  if (flat_) memory.touch(single_weight(share()));
}

void ReplayedUpdate::run(CachingAllocator& memory, std::vector<Handle>& gradients) const {
  // The BF16 copy of all gradients, which is reduced before weights are gathered.
  if (both_ && half_copy_) memory.touch(weights_.all);
  if (flat_) {
    reduce(memory);
    if (sharded_)
      join_share(memory, gradients);
    else
      join_all(memory, gradients);
  }
  if (both_ || (flat_ && sharded_)) gather(memory);
}

/// Gradients are copied into a bucket unless one fills it. ZeRO closes a bucket before it is too
/// full, `allreduce_no_retain` of engine.py behind that.
void ReplayedUpdate::reduce(CachingAllocator& memory) const {
  std::int64_t held = 0, tensors = 0;
  const auto close = [&] {
    if (tensors > 1) memory.touch(held);
    held = tensors = 0;
  };
  for (const std::int64_t weight : weights_.bytes) {
    if (sharded_ && tensors > 0 && held + weight > half * bucket_) close();
    held += weight;
    ++tensors;
    if (!sharded_ && held > half * bucket_) close();
  }
  close();
}

// stage_1_and_2.py: gradients that others update with go first; the rank's own are cast to FP32 one
// by one (`_has_inf_or_nan`), to FP64 (`get_grad_norm_direct`), joined, and cast as a whole.
void ReplayedUpdate::join_share(CachingAllocator& memory, std::vector<Handle>& gradients) const {
  const std::vector<WeightPart> own = first_share(weights_, replicas_);
  std::vector<Handle> kept;
  for (std::size_t made = 0; made < gradients.size(); ++made) {
    const bool owned = weights_.order[made] < own.size();
    if (owned)
      kept.push_back(gradients[made]);
    else
      memory.release(gradients[made]);
  }
  gradients.clear();
  if (checks_)
    for (const WeightPart& part : own) memory.touch(single * part.elements);
  for (const WeightPart& part : own) memory.touch(twice * part.elements);
  std::vector<Handle> joined;
  if (own.size() > 1) joined.push_back(memory.allocate(share()));
  const Handle cast = memory.allocate(single_weight(share()));
  memory.release(joined);
  memory.release(kept);
  memory.release(cast);
}

// fused_optimizer.py: each gradient is checked as FP32; all are cast, then joined.
void ReplayedUpdate::join_all(CachingAllocator& memory, std::vector<Handle>& gradients) const {
  if (checks_)
    for (const std::int64_t weight : weights_.bytes) memory.touch(single_weight(weight));
  std::vector<Handle> casts;
  for (const std::int64_t weight : weights_.bytes)
    casts.push_back(memory.allocate(single_weight(weight)));
  const Handle joined = memory.allocate(single_weight(weights_.all));
  memory.release(casts);
  memory.release(gradients);
  memory.release(joined);
}

/// `all_gather_dp_groups` gathers by way of a flat tensor.
void ReplayedUpdate::gather(CachingAllocator& memory) const {
  if (bucket_ > 0)
    memory.touch(weights_.all / std::max<std::int64_t>(1, weights_.all / half / bucket_));
}

}  // namespace stepcast
