#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

void check_chunks(const Scenario& scenario, Checks& checks) {
  const ParallelPlan& plan = scenario.workload.plan;
  if (!checks.good({"workload.chunks", "parallel.pp", "parallel.vpp"})) return;
  const auto chunks = static_cast<std::int64_t>(scenario.synthetic->chunks.size());
  checks.require(chunks == 1 || chunks == plan.pp * plan.vpp, "workload.chunks",
                 "has " + std::to_string(chunks) + " entries, allowed: 1, " +
                     std::to_string(plan.pp * plan.vpp) + " (pp*vpp)");
}

/// Keys about operators and memory, which given times know nothing of.
void check_operator_keys(const WorkloadSpec& workload, Checks& checks) {
  const auto neutral = [&](bool is, const char* key, const char* value) {
    checks.require(is, key,
                   std::string("is given but the workload has no operators, allowed: ") + value);
  };
  const TrainingSpec& training = workload.training;
  neutral(training.recompute == TrainingSpec::Recompute::none, "training.recompute", "none");
  neutral(training.attention == TrainingSpec::Attention::fused, "training.attention", "fused");
  neutral(!training.attention_head, "training.attention_head", "none");
  neutral(training.cross_entropy == TrainingSpec::CrossEntropy::unfused, "training.cross_entropy",
          "unfused");
  neutral(training.logit_metrics == 0, "training.logit_metrics", "0");
  neutral(!training.dropout, "training.dropout", "false");
  neutral(training.update_memory == TrainingSpec::UpdateMemory::in_place, "training.update_memory",
          "in_place");
  neutral(workload.communication.gradients_kept == CommunicationSpec::Kept::accumulated,
          "communication.gradient.kept", "accumulated");
  neutral(workload.communication.reduce_copy == CommunicationSpec::ReduceCopy::none,
          "communication.gradient.reduce_copy", "none");
  neutral(workload.communication.stand_ins == CommunicationSpec::StandIns::none,
          "communication.gradient.stand_ins", "none");
  neutral(workload.communication.tensor_chunks == 1, "communication.tensor.overlap", "none");
  neutral(workload.communication.tensor_backward == CommunicationSpec::TensorBackward::overlapped,
          "communication.tensor.backward", "overlapped");
  neutral(workload.runtime.recompute_statements == 0, "runtime.recompute_statements", "0");
  const RuntimeSpec& runtime = workload.runtime;
  neutral(runtime.fusion == RuntimeSpec::Fusion::none, "runtime.fusion", "none");
  neutral(runtime.optimizer == RuntimeSpec::OptimizerKernels::fused, "runtime.optimizer", "fused");
  neutral(runtime.kernels.norm == KernelSpec::Norm::fused, "runtime.kernels.norm", "fused");
  neutral(runtime.kernels.rope == KernelSpec::Rope::fused, "runtime.kernels.rope", "fused");
  neutral(runtime.kernels.heads == KernelSpec::Heads::joined, "runtime.kernels.heads", "joined");
  neutral(runtime.kernels.ring == KernelSpec::Ring::fused, "runtime.kernels.ring", "fused");
  neutral(runtime.graphs == 0, "runtime.graphs", "none");
  neutral(runtime.start_order == RuntimeSpec::StartOrder::by_stream, "runtime.start_order",
          "by_stream");
  neutral(runtime.layer_order == RuntimeSpec::LayerOrder::plain, "runtime.layer_order", "plain");
  neutral(runtime.kernels.scales == KernelSpec::Scales::joined, "runtime.kernels.scales", "joined");
  neutral(training.fp8_recipe == TrainingSpec::Fp8Recipe::delayed, "training.fp8_recipe",
          "delayed");
  neutral(runtime.kernels.activation == KernelSpec::Activation::fused, "runtime.kernels.activation",
          "fused");
}

}  // namespace

void check_synthetic(const Scenario& scenario, Checks& checks) {
  check_chunks(scenario, checks);
  check_operator_keys(scenario.workload, checks);
}

}  // namespace stepcast
