#include "least_states.hpp"

#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

/// What is offloaded leaves the part at hand on the device, which is not counted here. Of experts
/// that live on the host only those that work in a step are on the device, without their states.
double least_states(const Scenario& scenario, const std::array<PieceCost, plan_pieces>& parameters,
                    std::int64_t zero) {
  const WorkloadSpec& spec = scenario.workload;
  const ParallelPlan& plan = spec.plan;
  const PieceCounts counts = model_pieces(spec.model);
  const double weight = least_weight_bytes(spec.communication);
  const double gradient = gradient_bytes(spec.communication);
  // States on the host, or of experts that live there, are not on the device.
  const double states = spec.training.offload_optimizer ? 0 : optimizer_state_bytes(spec.training);
  const double expert_states = spec.training.offload_experts ? 0 : states;
  const double active = active_experts(spec.model, spec.training, spec.moe);
  const auto bytes = [&](double count, double replicas, double kept) {
    return count * (weight / shards(zero, Shards::parameters, replicas) +
                    gradient / shards(zero, Shards::gradients, replicas) +
                    kept / shards(zero, Shards::optimizer, replicas));
  };
  const auto dense_ranks = static_cast<double>(plan.dp * plan.cp);
  const auto expert_ranks = static_cast<double>(plan.edp());
  // Experts have replicas of their own.
  double sum = 0;
  for (std::size_t i = 0; i < plan_pieces; ++i)
    sum += counts[i] * (bytes(parameters[i].dense, dense_ranks, states) +
                        bytes(active * parameters[i].expert, expert_ranks, expert_states));
  // The mean stage: no layout has less on its fullest one.
  return sum / static_cast<double>(plan.pp);
}

}  // namespace stepcast
