#pragma once
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "known_models.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/program.hpp"
#include "stepcast/workloads/states.hpp"

/// Workloads, a device and sums over layer items, for the tests of lowering.
namespace stepcast::lowering {

/// A device with round numbers: every efficiency is 1 unless a test sets it.
inline DeviceSpec plain_device() {
  DeviceSpec device;
  device.name = "plain";
  device.matmul_peak = FlopsPerSecond{300e12};
  device.vector_peak = FlopsPerSecond{10e12};
  device.memory_bandwidth = BytesPerSecond{1.6e12};
  device.cube_cores = 24;
  device.launch = {Seconds{3e-6}, Seconds{2e-6}, Seconds{5e-6}};
  return device;
}

inline ClusterSpec plain_cluster() {
  ClusterSpec cluster;
  cluster.device = plain_device();
  cluster.device.softmax_state = SoftmaxState::wide;
  cluster.host.dispatch = {Seconds{12e-6}, Seconds{8e-6}, Seconds{20e-6}};
  cluster.host.task_queue_main = 0.5;
  cluster.host.task_queue_worker = 0.75;
  cluster.host.graph_sink_factor = 0.125;
  cluster.host.graph_launch = Seconds{1e-3};
  return cluster;
}

inline ModelSpec small_dense() {
  ModelSpec model = known_models::grouped(8, 1024, {16, 8, 64}, 4096, 32000);
  return model;
}

inline ModelSpec small_moe() {
  ModelSpec model = small_dense();
  model.moe = ExpertSpec{.first_dense = 1,
                         .experts = 16,
                         .top_k = 4,
                         .expert_hidden = 512,
                         .shared_experts = 1,
                         .shared_hidden = 1024};
  return model;
}

inline ModelSpec small_latent() {
  ModelSpec model = small_moe();
  model.attention = LatentAttention{16, 256, 128, 64, 32, 64};
  model.mtp_layers = 1;
  return model;
}

inline WorkloadSpec workload(const ModelSpec& model) {
  WorkloadSpec spec;
  spec.model = model;
  spec.training.sequence = 2048;
  spec.training.global_batch = 32;
  return spec;
}

inline LayerContext context(const WorkloadSpec& spec) {
  return {.model = spec.model,
          .plan = spec.plan,
          .training = spec.training,
          .moe = spec.moe,
          .gradient_bytes = gradient_bytes(spec.communication),
          .router = spec.runtime.kernels.router,
          .block = spec.runtime.kernels.block,
          .softmax = spec.runtime.kernels.softmax,
          .rope = spec.runtime.kernels.rope,
          .ring = spec.runtime.kernels.ring,
          .tensor_backward = spec.communication.tensor_backward};
}

/// FLOPs of matrix products and attention; of `prefix` rows only when given.
inline double product_flops(const LayerItems& items, const std::string& prefix = "") {
  double sum = 0;
  for (const LayerItem& item : items) {
    const auto* op = std::get_if<Operator>(&item);
    if (!op || !op->name.starts_with(prefix)) continue;
    if (const auto* fused = std::get_if<FusedWork>(&op->work)) {
      for (const FusedStage& stage : fused->stages)
        if (!std::holds_alternative<MemoryBoundWork>(stage.work))
          sum += stage.flops.value() / fused->tiles;
    } else if (!std::holds_alternative<MemoryBoundWork>(op->work)) {
      sum += op->flops.value();
    }
  }
  return sum;
}

struct Traffic {
  int calls = 0, overlapped = 0;
  double bytes = 0;
};

inline Traffic traffic(const LayerItems& items, GroupKind group, CollectiveKind kind) {
  Traffic sum;
  for (const LayerItem& item : items) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (!call || call->group != group || call->call.kind != kind) continue;
    ++sum.calls;
    sum.overlapped += call->overlapped ? 1 : 0;
    sum.bytes += call->call.bytes.value();
  }
  return sum;
}

/// Any way to reach the experts of a spec whose plan is set.
inline void take_any_experts(WorkloadSpec& spec) {
  MoeSpec& moe = spec.moe;
  moe.overlap = *rc::gen::element(MoeSpec::Overlap::none, MoeSpec::Overlap::shared_expert,
                                  MoeSpec::Overlap::chunks, MoeSpec::Overlap::tiles);
  if (spec.plan.etp > 1 && moe.overlap == MoeSpec::Overlap::tiles)
    moe.overlap = MoeSpec::Overlap::chunks;
  moe.pieces = *rc::gen::inRange(1, 5);
  moe.dispatch = *rc::gen::element(
      MoeSpec::Dispatch::flat, MoeSpec::Dispatch::two_hop, MoeSpec::Dispatch::two_hop_dedup,
      MoeSpec::Dispatch::hierarchical_allgather, MoeSpec::Dispatch::allgather);
  moe.wire = *rc::gen::element(MoeSpec::Wire::bf16, MoeSpec::Wire::fp8);
  moe.routing.distribution =
      *rc::gen::element(RoutingSpec::Distribution::uniform, RoutingSpec::Distribution::zipf);
  ParallelPlan cut = spec.plan;
  cut.expert_part = *rc::gen::element(1, 2, 4);
  if (moe.cuts_groups() && Placement(cut).cuts_experts_evenly()) spec.plan = cut;
}

/// Any plan that divides the small models, with any ZeRO stage, recompute and runtime.
inline WorkloadSpec any_workload() {
  WorkloadSpec spec = workload(*rc::gen::element(small_dense(), small_moe(), small_latent()));
  ParallelPlan& plan = spec.plan;
  plan.tp = *rc::gen::element(1, 2, 4);
  plan.pp = *rc::gen::element(1, 2, 4);
  plan.vpp = *rc::gen::element(1, 2);
  plan.cp = *rc::gen::element(1, 2);
  plan.dp = *rc::gen::element(1, 2, 4);
  plan.sequence_parallel = *rc::gen::arbitrary<bool>();
  plan.zero = *rc::gen::inRange(0, 4);
  plan.context_algorithm = *rc::gen::element(ParallelPlan::ContextAlgorithm::ring,
                                             ParallelPlan::ContextAlgorithm::ulysses,
                                             ParallelPlan::ContextAlgorithm::allgather);
  if (spec.model.moe) {
    plan.ep = *rc::gen::element(1, 2, 4);
    plan.ep = std::min(plan.ep, plan.stage_ranks());
    plan.etp = plan.stage_ranks() % (2 * plan.ep) == 0 ? *rc::gen::element(1, 2) : 1;
    take_any_experts(spec);
  }
  const bool halves = plan.zero > 0 && plan.dp % 2 == 0 && plan.edp() % 2 == 0;
  if (halves && plan.dp * plan.cp > 2) plan.dp_replicate = *rc::gen::element(1, 2);
  spec.communication.gather_overlap = *rc::gen::arbitrary<bool>();
  spec.training.recompute =
      *rc::gen::element(TrainingSpec::Recompute::none, TrainingSpec::Recompute::selective,
                        TrainingSpec::Recompute::full);
  spec.runtime.dispatch =
      *rc::gen::element(RuntimeSpec::Dispatch::eager, RuntimeSpec::Dispatch::task_queue,
                        RuntimeSpec::Dispatch::graph_sink);
  spec.communication.gradient_overlap = *rc::gen::arbitrary<bool>();
  spec.communication.bucket =
      *rc::gen::element<std::optional<std::int64_t>>(std::nullopt, 1000000, 40000000);
  return spec;
}

}  // namespace stepcast::lowering
