#include "stepcast/workloads/memory.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "activations.hpp"
#include "adapters.hpp"
#include "expert_copies.hpp"
#include "linear_attention.hpp"
#include "parameter_groups.hpp"
#include "stage_parameters.hpp"
#include "stage_pieces.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/allocator_replay.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/program.hpp"
#include "stepcast/workloads/states.hpp"
#include "stepcast/workloads/update_passes.hpp"

namespace stepcast {
namespace {

/// Which weights a stage has.
struct Kinds {
  bool attention = false, linear = false, dense = false, experts = false, head = false;
};

Kinds kinds_of(const ModelSpec& model, const std::vector<LayerTable::Slice>& slices) {
  Kinds kinds;
  const auto add = [&](LayerParts parts) {
    (parts.linear ? kinds.linear : kinds.attention) = true;
    (parts.moe ? kinds.experts : kinds.dense) = true;
  };
  // Layers of the same parts hold parameters of the same shapes, so that one stand-in serves a kind
  // wherever its layers are.
  for (const LayerTable::Slice& slice : slices) {
    for (std::int64_t i = 0; i < slice.count; ++i) add(parts_of(model, slice.first + i));
    if (slice.mtp > 0) add({mtp_is_moe(model)});
    kinds.head = kinds.head || slice.head;
  }
  return kinds;
}

/// Elements of the empty tensors that autograd is given for gradients which their products have
/// added already, one for each shape of a weight of one rank, and one of the output layer
/// (`communication.gradient.stand_ins`; docs/models/memory.md). Layers of MTP modules are as the
/// last one.
double stand_in_elements(const WorkloadSpec& spec, const std::vector<LayerTable::Slice>& slices) {
  if (spec.communication.stand_ins == CommunicationSpec::StandIns::none) return 0;
  // Adapters are no products of a library that stands in for their gradients.
  if (spec.training.adapters.any()) return 0;
  ModelSpec model = spec.model;
  // Stand-ins are for weights of products alone.
  model.bias = ModelSpec::Bias::none;
  const Kinds kinds = kinds_of(model, slices);
  ParameterGroups groups;
  if (kinds.attention) groups += mixer_products(model, false);
  if (kinds.linear) groups += mixer_products(model, true);
  if (kinds.dense) groups += dense_ffn_parameters(model);
  double expert = 0;
  if (kinds.experts) {
    const ParameterGroups of_experts = moe_ffn_parameters(model);
    groups.tensor += of_experts.tensor;  // shared ones
    // All experts of a rank have the same shapes, so that they share one stand-in.
    expert = of_experts.experts / static_cast<double>(model.moe->experts * spec.plan.etp);
  }
  double elements = on_rank(model, spec.plan, groups).dense + expert;
  // The output layer has one of its own.
  if (kinds.head)
    elements +=
        static_cast<double>(model.vocabulary * model.hidden) / static_cast<double>(spec.plan.tp);
  return elements;
}

using Slice = LayerTable::Slice;

/// Of all chunks of the stage.
std::vector<Slice> slices_of(const LayerTable& layers, Stage stage) {
  std::vector<Slice> slices;
  for (const auto& chunk : layers.slices) slices.push_back(chunk.at(stage.value));
  return slices;
}

bool keeps_both(const WorkloadSpec& spec) {
  return spec.communication.gradients_kept == CommunicationSpec::Kept::both;
}

/// Elements of the largest parameter tensor of one rank: a vocabulary matrix, the fused projection
/// of query, key and value, or the first one of a feed-forward part.
double largest_tensor(const WorkloadSpec& spec, const std::vector<Slice>& slices) {
  const ModelSpec& model = spec.model;
  const auto hidden = static_cast<double>(model.hidden), tp = static_cast<double>(spec.plan.tp);
  // Of frozen weights there is no update.
  if (spec.training.adapters.any()) return largest_adapter(model, spec.training.adapters) / tp;
  const double gated = model.ffn.kind == FeedForwardSpec::Kind::swiglu ? 2 : 1;
  double width = gated * static_cast<double>(model.ffn.hidden) / tp;
  if (model.moe)
    width = std::max(width, gated * static_cast<double>(model.moe->expert_hidden) /
                                static_cast<double>(spec.plan.etp));
  if (const auto* a = std::get_if<GroupedQueryAttention>(&model.attention)) {
    const std::int64_t queries = a->output_gate ? 2 * a->heads : a->heads;
    width = std::max(width, static_cast<double>((queries + 2 * a->kv_heads) * a->head_dim) / tp);
  }
  if (model.linear) width = std::max(width, linear_attention_sizes(*model.linear).projected / tp);
  for (const Slice& slice : slices)
    if (slice.embedding || slice.head || slice.mtp > 0)
      width = std::max(width, static_cast<double>(model.vocabulary) / tp);
  return hidden * width;
}

/// Of a stored weight that another rank updates, beside its cast copy.
double cast_source_bytes(const TrainingSpec& training) {
  const bool stored = training.master_weights == TrainingSpec::MasterWeights::stored;
  return stored ? gathered_weight_bytes(training) : 0;
}

/// FP32 weights as they are gathered. Every micro-batch casts them anew; of a single one the layer
/// at hand and the one ahead are there, the others are cast, or to come.
void add_cast_sources(MemoryBudget& budget, const WorkloadSpec& spec, double elsewhere,
                      double largest_layer) {
  const double bytes = cast_source_bytes(spec.training);
  const bool once = spec.training.global_batch <= spec.training.micro_batch * spec.plan.dp;
  if (once)
    budget.buffers += Bytes{std::min(bytes * elsewhere, 2 * bytes / weight_bytes * largest_layer)};
  else
    budget.parameters += Bytes{bytes * elsewhere};
}

/// States and weights that wait on the host or on its drives. `away`: the part of the optimizer's.
void add_offloaded(MemoryBudget& budget, const WorkloadSpec& spec,
                   const StageParameters& parameters, double away) {
  const ParallelPlan& plan = spec.plan;
  const TrainingSpec& training = spec.training;
  const auto dense_ranks = static_cast<double>(plan.dense_shards());
  const auto expert_ranks = static_cast<double>(plan.expert_shards());
  const double all_experts = training.offload_experts ? 1 : away;
  const double whole_experts = training.offload_experts ? parameters.all.experts : 0;
  // Owners under ZeRO have their share away; of experts that live there, all of it.
  const double states_away =
      away * parameters.trained.dense / shards(plan.zero, Shards::optimizer, dense_ranks) +
      all_experts * parameters.trained.experts / shards(plan.zero, Shards::optimizer, expert_ranks);
  // of states on drives the part at hand is in memory, with those on their way before and behind it
  const bool stored = training.offload_store == TrainingSpec::OffloadStore::storage;
  const Bytes states{optimizer_state_bytes(training) * states_away};
  budget.storage = stored ? states : Bytes{0};
  budget.host = (stored ? 3.0 / optimizer_parts : 1) * states + Bytes{weight_bytes * whole_experts};
}

/// Bytes of parameters, gradients and optimizer, as ZeRO shards them, and what a flat update
/// allocates of them.
void add_states(MemoryBudget& budget, const WorkloadSpec& spec, const StageParameters& parameters) {
  const ParallelPlan& plan = spec.plan;
  const TrainingSpec& training = spec.training;
  const bool there = training.offload_update == TrainingSpec::OffloadUpdate::host;
  const double active = active_experts(spec.model, training, spec.moe);
  // offloaded, the part at hand and the one that is fetched ahead
  const auto here = [there](double away) {
    return (there ? 0 : away * 2.0 / optimizer_parts) + (1 - away);
  };
  const double away = training.offload_optimizer ? training.offload_optimizer_part : 0;
  const double dense_here = here(away);
  const double experts_here = here(training.offload_experts ? 1 : away);
  const auto dense_ranks = static_cast<double>(plan.dense_shards());
  const auto expert_ranks = static_cast<double>(plan.expert_shards());
  const auto part_of = [&](const RankParameters& of, Shards what, double dense, double experts) {
    return dense * of.dense / shards(plan.zero, what, dense_ranks) +
           experts * active * of.experts / shards(plan.zero, what, expert_ranks);
  };
  const auto sharded = [&](Shards what, double dense = 1, double experts = 1) {
    // Gradients and states are those of what is trained.
    return part_of(what == Shards::parameters ? parameters.all : parameters.trained, what, dense,
                   experts);
  };
  budget.optimizer =
      Bytes{optimizer_state_bytes(training) * sharded(Shards::optimizer, dense_here, experts_here)};
  budget.moments = moment_bytes(training) / optimizer_state_bytes(training) * budget.optimizer;
  budget.gradients = Bytes{gradient_bytes(spec.communication) * sharded(Shards::gradients)};
  if (keeps_both(spec)) budget.gradients += Bytes{half_bytes * sharded(Shards::gradients)};
  if (training.update_memory == TrainingSpec::UpdateMemory::flat)
    budget.update += Bytes{flat_update_bytes * sharded(Shards::optimizer)};
  // Weights of products may be kept in the one byte in which they are gathered.
  const double saved = weight_bytes - kept_product_bytes(spec.communication, plan.zero);
  const double one_byte = parameters.one_byte.dense + active * parameters.one_byte.experts;
  budget.parameters = Bytes{weight_bytes * sharded(Shards::parameters) - saved * one_byte};
  const double packed = weight_bytes - frozen_bytes(training.adapters);
  budget.parameters -= Bytes{packed * parameters.products.dense /
                             shards(plan.zero, Shards::parameters, dense_ranks)};
  // Weights that the rank has whole but others update; none of them is frozen.
  add_cast_sources(
      budget, spec,
      part_of(parameters.trained, Shards::parameters, 1, 1) - sharded(Shards::optimizer),
      parameters.largest_layer);
  // The second copy of ZeRO++.
  if (plan.hpz > 1)
    budget.parameters += Bytes{weight_bytes * parameters.all.dense / static_cast<double>(plan.hpz)};
  add_offloaded(budget, spec, parameters, away);
  // the gathered layer in use and the one that is gathered ahead
  if (plan.zero >= 3) budget.buffers += Bytes{2 * parameters.largest_layer};
}

/// Weights and gradients of copies of experts (`moe.spare_experts`).
void add_copies(MemoryBudget& budget, const WorkloadSpec& spec, const LayerTable& layers,
                Stage stage) {
  if (!spec.model.moe || spec.moe.spare_experts == 0) return;
  const double parameters = static_cast<double>(spec.moe.spare_experts) *
                            parameters_of_expert(spec.model, spec.plan) *
                            static_cast<double>(moe_layers_of(spec.model, layers, stage).size());
  budget.parameters += Bytes{(weight_bytes + cast_source_bytes(spec.training)) * parameters};
  budget.gradients += Bytes{gradient_bytes(spec.communication) * parameters};
}

/// What is sent and what is received of gradients that travel in BF16: of a bucket, or of a whole
/// chunk where several wait for the last micro-batch.
void add_half_gradients(MemoryBudget& budget, const WorkloadSpec& spec,
                        const StageParameters& parameters, std::size_t chunks) {
  const CommunicationSpec& communication = spec.communication;
  if (communication.gradient_exchange == CommunicationSpec::GradientExchange::reduce) return;
  double elements =
      (parameters.trained.dense + parameters.trained.experts) / static_cast<double>(chunks);
  if (chunks == 1 && communication.gradient_overlap) {
    const auto replicas = static_cast<double>(spec.plan.dense_shards());
    elements = std::min(elements, bucket_elements(communication, replicas));
  }
  budget.buffers += Bytes{2 * half_bytes * elements};
}

/// The activations of one stage, chunk by chunk.
class StageActivations {
 public:
  StageActivations(const WorkloadSpec& spec, SoftmaxState state, double fullest)
      : spec_{spec}, state_{state}, fullest_{fullest} {}

  /// Something that the end of a backward needs, when no layer is rebuilt.
  void at_the_end(Bytes bytes) { last_ = bytes; }

  /// The next chunk.
  void add(const Slice& slice, std::int64_t recomputed) {
    Bytes& per_micro_batch = chunks_.emplace_back();
    Bytes& away = away_.emplace_back();
    if (slice.embedding) per_micro_batch += input_activations(spec_);
    for (std::int64_t i = 0; i < slice.count; ++i) {
      const LayerParts parts = parts_of(spec_.model, slice.first + i);
      const Recompute how = mode(i, recomputed);
      const Bytes sent = away_activations(spec_, fullest_, parts.moe, how, state_, parts.linear);
      const Bytes here_kept = layer(parts, how) - sent;
      per_micro_batch += here_kept;
      // a pair adds a layer of its forward before it takes one of its backward
      if (spec_.pairs) paired_ = std::max(paired_, here_kept);
      away += sent;
      // the layer at hand and the one that is fetched ahead, or is still on its way out; pairs have
      // both
      const double here = spec_.pairs ? 4 : 2;
      fetched_ = std::max(fetched_, here * sent);
    }
    for (std::int64_t module = 0; module < slice.mtp; ++module) {
      per_micro_batch += layer({mtp_is_moe(spec_.model)}, mtp_mode());
      per_micro_batch += mtp_activations(spec_);
    }
    if (slice.head) beside_ += static_cast<double>(1 + slice.mtp) * head_activations(spec_);
  }

  Bytes at(const std::vector<double>& in_flight) const {
    expects(in_flight.size() == chunks_.size(), "in_flight has one entry per chunk");
    // What is there once, in equal slices: the longest slice is the worst one.
    Bytes sum = longest_slice() * (beside_ + rebuilt_ + fetched_ + paired_);
    const auto slices = static_cast<double>(spec_.plan.slices);
    // The end of a backward has no layer left to rebuild: of the two the larger one counts.
    sum += std::max(Bytes{0}, slices * last_ - longest_slice() * rebuilt_);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      sum += in_flight[chunk] * chunks_[chunk];
    }
    return sum / slices;
  }

  Bytes on_host(const std::vector<double>& in_flight) const {
    Bytes sum{0};
    for (std::size_t chunk = 0; chunk < away_.size(); ++chunk)
      sum += in_flight[chunk] * away_[chunk];
    return sum / static_cast<double>(spec_.plan.slices);
  }

 private:
  using Recompute = TrainingSpec::Recompute;

  /// Over an equal slice.
  double longest_slice() const {
    double longest = 0;
    for (std::int64_t slice = 0; slice < spec_.plan.slices; ++slice)
      longest = std::max(longest, spec_.plan.slice_weight(spec_.training.sequence, slice));
    return longest;
  }

  Recompute mode(std::int64_t layer, std::int64_t recomputed) const {
    if (spec_.training.recompute != Recompute::table) return spec_.training.recompute;
    return layer < recomputed ? Recompute::full : Recompute::none;
  }

  /// Tables count transformer layers only (docs/models/memory.md).
  Recompute mtp_mode() const {
    const Recompute how = spec_.training.recompute;
    return how == Recompute::table ? Recompute::none : how;
  }

  Bytes layer(LayerParts parts, Recompute how) {
    const auto bytes = [&](Recompute mode) {
      return layer_activations(spec_, fullest_, parts.moe, mode, state_, parts.linear);
    };
    const Bytes kept = bytes(how);
    // one layer at a time is rebuilt beside what is kept
    rebuilt_ = std::max(rebuilt_, bytes(Recompute::none) - kept);
    return kept;
  }

  const WorkloadSpec& spec_;
  SoftmaxState state_;
  double fullest_;                    ///< load of the fullest rank
  std::vector<Bytes> chunks_, away_;  // of one micro-batch, here and on the host
  Bytes beside_{0}, rebuilt_{0}, last_{0}, fetched_{0}, paired_{0};
};

/// Communicators that a rank of the stage opens, each with two buffers of its own.
int communicators(const WorkloadSpec& spec, const std::vector<Slice>& slices) {
  const ParallelPlan& plan = spec.plan;
  const bool shares_embedding = std::ranges::any_of(
      slices, [](const Slice& slice) { return slice.embedding || slice.head || slice.mtp > 0; });
  int count = 0;
  count += plan.world() > 1;
  count += plan.tp > 1;
  count += plan.cp > 1;
  count += plan.dp * plan.cp > 1;
  // Hybrid sharding: the ranks that share out, and those of like index, unless these are all.
  if (plan.shard_groups() > 1)
    count += 1 + (plan.dp_replicate > 1 && plan.dp_replicate < plan.dp * plan.cp);
  count += plan.pp > 1;
  // Stages that hold the same layers in opposite directions reduce between each other.
  count += plan.pp > 1 && plan.chunk_map().copies() > 1;
  // First and last stage add up the gradients of their embedding.
  count += plan.pp > 1 && plan.chunk_placement == ChunkPlacement::loop && shares_embedding &&
           (spec.model.tied_embeddings || spec.model.mtp_layers > 0);
  if (spec.model.moe) {
    count += plan.ep > 1;
    count += plan.etp > 1;
    count += plan.edp() > 1;
  }
  return count;
}

double fullest_load(const WorkloadSpec& spec, std::optional<double> known) {
  if (!spec.model.moe) return 1;
  return known ? *known : layer_loads(spec).fullest();
}

/// What the update allocates tensor by tensor or bucket by bucket, and the cast of gradients that
/// are kept in both precisions.
void add_working_copies(MemoryBudget& budget, StageActivations& activations,
                        const WorkloadSpec& spec, double parameters,
                        const std::vector<Slice>& slices) {
  using Update = TrainingSpec::UpdateMemory;
  const Update update = spec.training.update_memory;
  const auto bucket = static_cast<double>(spec.communication.bucket.value_or(0));
  const Bytes largest{single_bytes * largest_tensor(spec, slices)};
  if (update == Update::tensor) budget.update += largest;
  if (update == Update::flat) budget.update += Bytes{gradient_bytes(spec.communication) * bucket};
  if (!keeps_both(spec)) return;
  activations.at_the_end(largest);
  const bool copied = spec.communication.reduce_copy == CommunicationSpec::ReduceCopy::bf16;
  const double gathered = spec.plan.zero > 0 ? weight_bytes * bucket : 0;
  // One behind the other: the reduction is over when weights are gathered.
  budget.update += Bytes{std::max(gathered, copied ? half_bytes * parameters : 0)};
}

/// What passes beside the update hold. A flat update is DeepSpeed's, which its passes make.
void add_update_passes(MemoryBudget& budget, const WorkloadSpec& spec,
                       const StageParameters& parameters, const std::vector<Slice>& slices) {
  const ParallelPlan& plan = spec.plan;
  const auto sharded = [&](Shards what) {
    return parameters.trained.dense /
               shards(plan.zero, what, static_cast<double>(plan.dense_shards())) +
           parameters.trained.experts /
               shards(plan.zero, what, static_cast<double>(plan.expert_shards()));
  };
  const UpdateSizes sizes{sharded(Shards::gradients), sharded(Shards::optimizer),
                          gradient_bytes(spec.communication)};
  const Bytes held{update_held(spec.runtime, sizes, largest_tensor(spec, slices))};
  const bool flat = spec.training.update_memory == TrainingSpec::UpdateMemory::flat;
  // Passes of a flat update are what it holds anyway.
  budget.update = flat ? std::max(budget.update, held) : budget.update + held;
}

}  // namespace

Bytes counted(const MemoryBudget& budget, MemoryCount count) {
  const Bytes states = budget.passes() - budget.activations - budget.communicators;
  // Adam makes its moments in the first update, which no backward pass has met.
  if (count == MemoryCount::first_step)
    return states + std::max(budget.activations - budget.moments, budget.update);
  // Communicators take their buffers from the device, not from the allocator.
  if (count == MemoryCount::allocated) return budget.peak() - budget.communicators;
  // What `nvidia-smi` sees, free blocks of the allocator and the context included.
  if (count == MemoryCount::device) {
    const Bytes kept =
        budget.cached > Bytes{0} ? budget.cached : budget.activations + budget.update;
    return budget.passes() - budget.activations + kept + budget.reserve;
  }
  return budget.peak();
}

MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<std::vector<double>>& moments,
                          std::optional<double> fullest) {
  const std::vector<Slice> slices = slices_of(layers, stage);
  expects(!moments.empty(), "a stage has at least one moment");

  MemoryBudget budget;
  budget.reserve = cluster.device.memory_reserve;
  budget.capacity = cluster.device.memory_capacity - budget.reserve;
  const StageParameters parameters = stage_parameters(spec, slices);
  add_states(budget, spec, parameters);
  add_half_gradients(budget, spec, parameters, slices.size());
  add_copies(budget, spec, layers, stage);

  StageActivations activations{spec, cluster.device.softmax_state, fullest_load(spec, fullest)};
  for (std::size_t chunk = 0; chunk < slices.size(); ++chunk) {
    const bool table = spec.training.recompute == TrainingSpec::Recompute::table;
    const std::int64_t recomputed =
        table ? spec.training.recompute_layers.at(chunk).at(stage.value) : 0;
    activations.add(slices[chunk], recomputed);
  }
  budget.gradients += Bytes{half_bytes * stand_in_elements(spec, slices)};
  add_working_copies(budget, activations, spec,
                     parameters.trained.dense + parameters.trained.experts, slices);
  add_update_passes(budget, spec, parameters, slices);
  const Bytes waiting = waiting_gradients(spec, cluster, slices);
  // The worst moments of device and host need not be the same.
  Bytes stored{0};
  for (const std::vector<double>& moment : moments) {
    budget.activations = std::max(budget.activations, activations.at(moment) + waiting);
    stored = std::max(stored, activations.on_host(moment));
  }
  // All devices of a host are taken to hold what this stage holds.
  budget.host = static_cast<double>(cluster.host.devices_per_host) * (budget.host + stored);
  budget.host_capacity = cluster.host.memory_capacity;
  budget.storage = static_cast<double>(cluster.host.devices_per_host) * budget.storage;
  budget.storage_capacity = cluster.host.storage_capacity;
  // HCCL takes its buffer size twice for each communicator.
  budget.communicators =
      static_cast<double>(2 * communicators(spec, slices)) * cluster.collectives.buffer;
  budget.buffers += budget.communicators;
  return budget;
}

void add_cached(MemoryBudget& budget, const WorkloadSpec& spec, const LayerTable& layers,
                Stage stage, const std::vector<std::vector<double>>& moments) {
  if (!replays_allocator(spec)) return;
  double most = 0;
  // A stage that can be replayed has one chunk.
  for (const std::vector<double>& moment : moments) most = std::max(most, moment.front());
  const auto in_flight = static_cast<std::int64_t>(std::ceil(most));
  const KeptByAllocator kept =
      replay_allocator(spec, layers.slices.front().at(stage.value), in_flight);
  // The states count gradients that come and go already.
  budget.cached = kept.reserved - kept.gradients;
}

MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<std::vector<int>>& moments) {
  std::vector<std::vector<double>> units;
  units.reserve(moments.size());
  for (const std::vector<int>& moment : moments) units.emplace_back(moment.begin(), moment.end());
  return stage_memory(spec, layers, cluster, stage, units);
}

MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<int>& in_flight) {
  return stage_memory(spec, layers, cluster, stage, std::vector<std::vector<int>>{in_flight});
}

}  // namespace stepcast
