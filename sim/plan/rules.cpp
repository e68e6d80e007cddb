#include "rules.hpp"

#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {

namespace {

/// The first of several rules that does not hold.
Misfit first_of(std::initializer_list<Misfit> misfits) {
  for (const Misfit misfit : misfits)
    if (misfit) return misfit;
  return nullptr;
}

ParallelPlan plan_of(const Scenario& base, const Strategy& s) {
  ParallelPlan plan = base.workload.plan;
  take_sizes(plan, s, base.cluster.devices);
  return plan;
}

}  // namespace

void take_sizes(ParallelPlan& plan, const Strategy& s, std::int64_t devices) {
  plan.tp = s.tp;
  plan.pp = s.pp;
  plan.vpp = s.vpp;
  plan.cp = s.cp;
  plan.ep = s.ep;
  plan.etp = s.etp;
  plan.zero = s.zero;
  plan.sequence_parallel = s.sequence_parallel;
  // Last, since it divides by the sizes above; devices_misfit() has said whether the division has a
  // rest.
  plan.dp = devices / (plan.tp * plan.cp * plan.pp);
}

/// A reason is a constant text, because millions of points may fall for it.
Misfit wrong_sizes(const Scenario& base, const Strategy& s, const PlanSpec& spec) {
  const ModelSpec& model = base.workload.model;
  const ParallelPlan plan = plan_of(base, s);
  if (const Misfit misfit = devices_misfit(base.cluster.devices, plan)) return misfit;
  if (spec.tensor_in_node && s.tp > base.cluster.node_devices) return "tp leaves the node";
  const ChunkMap one_each{ChunkPlacement::loop, s.pp, 1};  // of chunks more are known later
  return first_of({heads_misfit(model, plan), key_value_misfit(model, plan),
                   width_misfit(model, plan), chunks_misfit(model, one_each),
                   context_misfit(base.workload.training, plan),
                   sliced_context_misfit(base.schedule.slices, plan),
                   idle_tensor_overlap_misfit(base.workload.communication, plan),
                   idle_layer_order_misfit(base.workload.runtime, plan)});
}

Misfit wrong_experts(const Scenario& base, const Strategy& s) {
  const auto& experts = base.workload.model.moe;
  const MoeSpec& moe = base.workload.moe;
  const ParallelPlan plan = plan_of(base, s);
  // Without experts only one thing can be wrong: sizes that ask for them.
  if (!experts) return no_experts_misfit(plan);
  // In the order in which a scenario is checked, so that both name the same reason.
  return first_of({experts_misfit(*experts, plan), expert_width_misfit(*experts, plan),
                   expert_ranks_misfit(plan), paired_exchange_misfit(moe, plan),
                   tiles_misfit(moe, plan), whole_rows_misfit(moe, plan),
                   idle_dispatch_misfit(moe, plan), idle_overlap_misfit(moe, plan),
                   idle_placement_misfit(moe, plan), idle_wire_misfit(moe, plan),
                   combine_misfit(moe, plan), layer_order_misfit(base.workload.runtime, moe)});
}

Misfit wrong_batch(const Scenario& base, const Strategy& s, const PlanSpec& spec) {
  TrainingSpec training = base.workload.training;
  // The batch of a point, with its own micro-batch: the global batch stays what the file says.
  training.micro_batch = s.micro_batch;
  const ParallelPlan plan = plan_of(base, s);
  if (const Misfit misfit = batch_misfit(training, plan)) return misfit;
  if (training.global_batch / (training.micro_batch * plan.dp) < spec.least_micro_batches)
    return "too few micro-batches";
  return first_of({sequence_parallel_misfit(training, plan),
                   slices_misfit(base.schedule.slices, training, plan)});
}

Misfit wrong_point(const Scenario& base, const Strategy& s, const PlanSpec& spec) {
  if (const Misfit misfit = wrong_sizes(base, s, spec)) return misfit;
  if (const Misfit misfit = wrong_experts(base, s)) return misfit;
  return wrong_batch(base, s, spec);
}

Misfit wrong_schedule(const Scenario& scenario) {
  const WorkloadSpec& workload = scenario.workload;
  if (const Misfit misfit = chunks_misfit(workload.model, workload.plan.chunk_map())) return misfit;
  const PipelineShape shape = scenario.pipeline_shape();
  if (!pipeline_schedule(scenario.schedule.pipeline).rule(shape).empty())
    return "the schedule does not serve the shape";
  return pair_findings(scenario, shape).empty() ? nullptr : "fb_pair does not serve the point";
}

/// What shards nothing or gathers nothing depends on the zero, which a family leaves open.
Misfit wrong_zero(const WorkloadSpec& workload, std::int64_t zero) {
  ParallelPlan plan = workload.plan;
  plan.zero = zero;
  return first_of({paired_gradients_misfit(workload.moe, plan),
                   idle_gather_overlap_misfit(workload.communication, plan),
                   wrong_exchange_misfit(workload.communication, plan),
                   gradient_exchange_misfit(workload.communication, plan),
                   idle_gather_precision_misfit(workload.communication, plan),
                   lone_gather_misfit(workload.communication, workload.model, plan)});
}

/// Sizes that are not asked for leave the space as a whole, before any plan is tried.
bool keeps_constraints(const Scenario& base, const PlanSpec& spec) {
  const double parameters = count_parameters(base.workload.model).total;
  const double flops =
      training_flops_per_token(base.workload.model, base.workload.training.sequence, true);
  const auto inside = [](double value, const std::optional<double>& least,
                         const std::optional<double>& most) {
    return value >= least.value_or(value) && value <= most.value_or(value);
  };
  return inside(parameters, spec.least_parameters, spec.most_parameters) &&
         inside(flops, spec.least_flops_per_token, spec.most_flops_per_token);
}

}  // namespace stepcast
