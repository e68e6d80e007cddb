#include <algorithm>
#include <utility>

#include "data_parallel.hpp"

// How gradients are cut, and reduced where replicas share out in groups.
namespace stepcast {

namespace {

/// Elements of the largest matrix of one routed expert on a rank; gate and value are one.
double largest_of_expert(const WorkloadSpec& spec) {
  if (!spec.model.moe) return 0;
  const double parts = spec.model.ffn.kind == FeedForwardSpec::Kind::swiglu ? 2 : 1;
  return parts * static_cast<double>(spec.model.hidden) *
         static_cast<double>(spec.model.moe->expert_hidden) / static_cast<double>(spec.plan.etp);
}

}  // namespace

double bucket_elements(const WorkloadSpec& spec, GroupKind group) {
  const auto replicas = static_cast<double>(group_size(spec.plan, group));
  const double elements = bucket_elements(spec.communication, replicas);
  // With `auto` a bucket ends behind a whole parameter, and a matrix of an expert may be longer.
  if (group != GroupKind::expert_data || spec.communication.bucket) return elements;
  return std::max(elements, largest_of_expert(spec));
}

bool has_buckets(std::size_t chunk, std::int64_t zero, std::int64_t copies) {
  // Megatron-LM: disable_bucketing=(model_chunk_idx > 0), here unless each backward reduces.
  return chunk == 0 || zero >= 2 || copies > 1;
}

double DataParallel::bucket(Part part) const {
  return bucket_elements(spec_,
                         part == Part::expert ? GroupKind::expert_data : GroupKind::dense_data);
}

void DataParallel::reduce_hybrid(Part part, double parameters, Slots& slots, Instructions& out) {
  const bool expert = part == Part::expert;
  const std::string of = expert ? "expert gradients" : "gradients";
  const auto issue = [&](const std::string& verb, GroupKind group, CollectiveKind kind,
                         double elements) {
    slots.push_back(next_reduction());
    builder_.issue(verb + of, group, {kind, Bytes{gradient_size() * elements}}, slots.back(), true,
                   out);
  };
  // Hybrid sharding: sum inside the group that shares out the states, then across its replicas,
  // where each rank has only its part left to sum.
  if (sharing(part) > 1)
    issue("reduce_scatter ", expert ? GroupKind::expert_shard : GroupKind::dense_shard,
          CollectiveKind::reduce_scatter, parameters);
  issue("all_reduce shards of ", expert ? GroupKind::expert_replica : GroupKind::dense_replica,
        CollectiveKind::all_reduce, parameters / sharing(part));
}

namespace {

Operator half_kernel(const char* name, double flops, double bytes) {
  return {.name = name,
          .work = MemoryBoundWork{},
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .launch = LaunchClass::vector};
}

}  // namespace

void DataParallel::send_in_half(Part part, double parameters, Slots& slots, Instructions& out) {
  const bool expert = part == Part::expert;
  // Sent in half precision and summed in FP32 at the other end: an all-to-all, because a
  // reduce-scatter would round after every addition.
  builder_.compute(half_kernel("gradients to bf16", 0, (single_bytes + half_bytes) * parameters),
                   out);
  slots.push_back(next_reduction());
  builder_.issue(expert ? "all_to_all expert gradients" : "all_to_all gradients", group_of(expert),
                 {CollectiveKind::all_to_all, Bytes{half_bytes * parameters}}, slots.back(), true,
                 out);
}

void DataParallel::add_up_received(const Share& share, Instructions& out) {
  double received = 0, sums = 0;
  for (const auto& [part, parameters] :
       {std::pair{Part::dense, share.dense}, {Part::expert, share.expert}}) {
    if (replicas(part) <= 1) continue;
    // All replicas' parts are read in BF16, and the rank's own sums are written in FP32.
    received += parameters;
    sums += parameters / replicas(part);
  }
  if (received <= 0) return;
  const Operator sum =
      half_kernel("sum of gradients", received, half_bytes * received + single_bytes * sums);
  builder_.compute(sum, out);
  builder_.program().update_flops += sum.flops.value();
  builder_.program().executed_flops += sum.flops.value();
}

void DataParallel::reduce_buckets(Part part, double& parameters, Slots& slots, Instructions& out) {
  const double size = bucket(part);
  while (parameters >= size) {
    reduce(part, size, slots, out);
    parameters -= size;
  }
}

}  // namespace stepcast
