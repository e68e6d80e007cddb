#include <algorithm>

#include "stepcast/sim/scenario/checks.hpp"

// What follows from the keys of a scenario by arithmetic, before it is checked.
namespace stepcast {
namespace {

bool has_pairs(const std::vector<StageOrder>& orders) {
  return std::ranges::any_of(orders, [](const StageOrder& order) {
    return std::ranges::any_of(order, [](const Unit& unit) { return unit.with_next; });
  });
}

bool inside_super_node(const Scenario& scenario) {
  return scenario.cluster.super_node && scenario.workload.moe.inner != MoeSpec::Inner::node;
}

}  // namespace

void place_chunks(Scenario& scenario) {
  // The spec of the workload carries what the schedule decides, so that lowering needs no schedule.
  const PipelineShape shape = scenario.pipeline_shape();
  scenario.workload.plan.chunk_placement = shape.placement;
  scenario.workload.plan.slices = shape.slices;
  if (std::ssize(scenario.schedule.slice_tokens) == shape.slices)
    scenario.workload.plan.slice_tokens = scenario.schedule.slice_tokens;
  scenario.workload.post_validation = scenario.schedule.post_validation;
  const bool pairs = scenario.order_table ? has_pairs(scenario.order_table->orders)
                                          : pipeline_schedule(scenario.schedule.pipeline).pairs;
  scenario.workload.pairs = pairs || scenario.workload.moe.overlap == MoeSpec::Overlap::fb_pair;
}

void cut_expert_groups(Scenario& scenario) {
  if (!scenario.workload.model.moe || !scenario.workload.moe.cuts_groups()) return;
  const ClusterSpec& cluster = scenario.cluster;
  scenario.workload.plan.expert_part =
      cluster.node_devices * (inside_super_node(scenario) ? cluster.super_node->nodes : 1);
}

void settle(Scenario& scenario, const Checks& checks) {
  if (checks.good({"schedule.pipeline", "schedule.slices"})) place_chunks(scenario);
  ParallelPlan& plan = scenario.workload.plan;
  if (checks.good({"cluster.devices", "parallel.tp", "parallel.cp", "parallel.pp"}))
    plan.dp = std::max(scenario.cluster.devices / (plan.tp * plan.cp * plan.pp), std::int64_t{1});
  const bool experts = !scenario.synthetic && checks.good({"model", "moe.dispatch", "moe.inner"});
  if (experts && checks.good_below("cluster")) cut_expert_groups(scenario);
}

}  // namespace stepcast
