#include "rules.hpp"

#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/topology/placement.hpp"

namespace stepcast {

/// A reason is a constant text, because millions of points may fall for it.
const char* wrong_sizes(const Scenario& base, const Strategy& s, const PlanSpec& spec) {
  const ModelSpec& model = base.workload.model;
  if (base.cluster.devices % (s.tp * s.cp * s.pp) != 0)
    return "tp*cp*pp does not divide the devices";
  if (spec.tensor_in_node && s.tp > base.cluster.node_devices) return "tp leaves the node";
  const std::int64_t heads = std::visit([](const auto& a) { return a.heads; }, model.attention);
  if (heads % s.tp != 0) return "tp does not divide the attention heads";
  if (const auto* gqa = std::get_if<GroupedQueryAttention>(&model.attention))
    if (gqa->kv_heads % s.tp != 0 && s.tp % gqa->kv_heads != 0)
      return "tp does not fit the key and value heads";
  if (model.ffn.hidden % s.tp != 0) return "tp does not divide the hidden width";
  if (s.pp > model.layers) return "more stages than layers";
  if (base.workload.training.sequence % s.cp != 0) return "cp does not divide the sequence";
  const std::int64_t slices = base.schedule.slices;
  if (slices > 1 && s.cp > 1) return "slices go with cp 1";
  return nullptr;
}

const char* wrong_experts(const Scenario& base, const Strategy& s) {
  const auto& moe = base.workload.model.moe;
  if (!moe) return s.ep != 1 || s.etp != 1 ? "the model has no experts" : nullptr;
  if (moe->experts % s.ep != 0) return "ep does not divide the experts";
  if (moe->expert_hidden % s.etp != 0) return "etp does not divide the hidden width of an expert";
  if (base.cluster.devices / s.pp % (s.etp * s.ep) != 0)
    return "etp*ep does not divide the ranks of a stage";
  const MoeSpec::Overlap overlap = base.workload.moe.overlap;
  if (overlap == MoeSpec::Overlap::fb_pair && s.ep == 1) return "fb_pair hides an exchange: ep > 1";
  if (overlap == MoeSpec::Overlap::tiles && s.etp > 1) return "tiles hold whole experts: etp 1";
  return nullptr;
}

/// Whether parts are equal depends on the order of the ranks, so that the placement is asked.
bool cuts_evenly(const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  return plan.expert_part == 0 || Placement(plan).cuts_experts_evenly();
}

const char* wrong_batch(const Scenario& base, const Strategy& s, const PlanSpec& spec) {
  const TrainingSpec& training = base.workload.training;
  const std::int64_t dp = base.cluster.devices / (s.tp * s.cp * s.pp);
  const std::int64_t one = s.micro_batch * dp;
  if (training.global_batch % one != 0) return "micro_batch*dp does not divide the global batch";
  if (training.global_batch / one < spec.least_micro_batches) return "too few micro-batches";
  if (s.sequence_parallel && training.sequence % (s.cp * s.tp) != 0)
    return "cp*tp does not divide the sequence";
  if (training.sequence % (base.schedule.slices * (s.sequence_parallel ? s.tp : 1)) != 0)
    return "the slices do not divide the sequence";
  return nullptr;
}

/// The schedule's own rule comes last, because it speaks of shapes that the ranges allow.
const char* wrong_schedule(const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  if (plan.pp * plan.vpp > scenario.workload.model.layers) return "more chunks than layers";
  const PipelineSchedule& schedule = pipeline_schedule(scenario.schedule.pipeline);
  const PipelineShape shape = scenario.pipeline_shape();
  const auto inside = [](std::int64_t n, const CountRange& r) { return n >= r.low && n <= r.high; };
  const bool fits = inside(shape.chunks, schedule.chunks) &&
                    inside(shape.slices, schedule.slices) && schedule.rule(shape).empty();
  if (!fits) return "the schedule does not serve the shape";
  return pair_findings(scenario, shape).empty() ? nullptr : "fb_pair does not serve the point";
}

/// The rules above are the quick ones; what they do not know, the reader's own checks find for the
/// few points that are left.
std::string reader_finding(Scenario scenario) {
  const Node nowhere;
  Reading reading;
  Checks checks{nowhere, reading};
  check_scenario(scenario, checks);
  if (reading.diagnostics.empty()) return {};
  const Diagnostic& first = reading.diagnostics.front();
  return first.path + ": " + first.message;
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
