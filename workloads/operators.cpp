#include "stepcast/workloads/operators.hpp"

#include <type_traits>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

/// Tensors of FP32 that the statements of Composer's DecoupledAdamW read and write, behind the
/// scaling by which gradients are clipped (docs/models/data_parallel.md).
constexpr double moved_per_tensor = 2 /* clip: mul_ */ + 2 /* mul_ */ + 3 /* add_ */ +
                                    2 /* mul_ */ + 3 /* addcmul_ */ + 2 /* sqrt */ + 2 /* div */ +
                                    2 /* add_ */ + 4 /* addcdiv_ */;

}  // namespace

Operator optimizer_step(double owned_parameters, const RuntimeSpec& runtime,
                        const TrainingSpec& training) {
  using Kernels = RuntimeSpec::OptimizerKernels;
  const bool fused = runtime.optimizer == Kernels::fused;
  // gradient and weight; master weight and moments are read and written
  const double states = 2 * (moved_master_bytes(training) + moment_bytes(training));
  using Master = TrainingSpec::MasterWeights;
  const bool itself =
      training.master_weights == Master::stored || training.master_weights == Master::none;
  // Kernels apart read and write one precision alone, so that they have no copy to leave out.
  const double wide =
      runtime.optimizer == Kernels::per_tensor ? single_bytes * moved_per_tensor : 156;
  const double apart = training.master_weights == Master::none ? wide / 2 : wide;
  const double bytes = fused ? single_bytes + (itself ? 0 : half_bytes) + states : apart;
  return {.name = "optimizer",
          .work = MemoryBoundWork{},
          .flops = Flops{14 * owned_parameters},
          .bytes = Bytes{bytes * owned_parameters},
          .launch = LaunchClass::vector};
}

Seconds host_update_time(double owned_parameters, const RuntimeSpec& runtime,
                         const TrainingSpec& training, const HostSpec& host) {
  RuntimeSpec one_pass = runtime;  // statements apart are those of a device
  one_pass.optimizer = RuntimeSpec::OptimizerKernels::fused;
  return optimizer_step(owned_parameters, one_pass, training).bytes / host.update_bandwidth();
}

Operator gradient_norm(double owned_parameters, double gradient_bytes) {
  return {.name = "gradient norm",
          .work = MemoryBoundWork{},
          .flops = Flops{2 * owned_parameters},
          .bytes = Bytes{gradient_bytes * owned_parameters},
          .launch = LaunchClass::vector};
}

/// Roles without a kind of their own stream as element-wise kernels do.
VectorKind kind_of(OperatorRole role) {
  using enum OperatorRole;
  switch (role) {
    case norm:
    case post_norm:
    case embedding_norm:
    case hidden_norm:
      return VectorKind::norm;
    case norm_backward:
    case post_norm_backward:
      return VectorKind::norm_backward;
    case activation:
      return VectorKind::activation;
    case activation_backward:
      return VectorKind::activation_backward;
    // Rows by an index, both ways.
    case permute:
    case permute_backward:
    case unpermute:
    case unpermute_backward:
      return VectorKind::gather;
    case other:
    case residual:
    case residual_backward:
    case rope:
    case rope_backward:
    case top_k:
    case top_k_backward:
    case loss_maximum:
    case loss_exponentials:
    case loss:
    case expert_weight_gradient:
      return VectorKind::elementwise;
  }
  return VectorKind::elementwise;
}

FusedStage fused_stage(const Operator& op) {
  return std::visit(
      [&](const auto& work) -> FusedStage {
        if constexpr (std::is_constructible_v<PlainWork, decltype(work)>)
          return {work, op.flops, op.bytes, op.fp8};
        // A fused kernel within a fused one, or a fixed time, has no stages to join.
        expects(false, "a fused kernel is made of plain operators");
        return {};
      },
      op.work);
}

Flops total_flops(const LayerItems& items) {
  Flops sum{0};
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) sum += op->flops;
  return sum;
}

}  // namespace stepcast
