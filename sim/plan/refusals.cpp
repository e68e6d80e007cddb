#include "refusals.hpp"

#include <algorithm>
#include <string>

#include "plan_cost.hpp"
#include "stepcast/sim/forecast/seeds.hpp"

namespace stepcast {
namespace {

/// The search knows an intact cluster alone; what is drawn comes to the finalists.
void refuse_stalls(const PlanSpace& space, const Node& root, const Node& plan, Reading& reading) {
  const StallsSpec& stalls = space.bases.front().scenario.stalls;
  const auto refuse = [&](const char* path, const std::string& message) {
    reading.report(place_of(root, path), path, message);
  };
  const bool seeded = space.spec.seeds > 0;
  const bool drawn = draws_for_seeds(space.bases.front().scenario);
  // Ranks that stall each by itself are replayed each by itself.
  constexpr std::int64_t many_ranks = 1024;
  const std::string_view seeds = space.bases.front().scenario.cluster.devices > many_ranks
                                     ? "--set 'plan.seeds=2' --set 'plan.finalists=2'"
                                     : "--set 'plan.seeds=8'";
  if (!seeded && stalls != StallsSpec{})
    refuse("stalls", "are not searched: the bound holds for an intact cluster, allowed: none" +
                         (drawn ? "; " + std::string(seeds) + " runs the best points with them"
                                : std::string()));
  if (seeded && !drawn)
    reading.report(
        place_of(plan, "seeds"), "plan.seeds",
        "is " + std::to_string(space.spec.seeds) +
            ", but nothing is drawn, allowed: 0, a cluster with a fleet, or stalls that draw: "
            "stalls.compute_jitter, gc_pauses, allocator_pauses, collisions, spread");
  if (!seeded)
    for (const char* key : {"quantile", "finalists"})
      if (plan.find(key) != nullptr)
        reading.report(place_of(plan, key), std::string("plan.") + key,
                       "is given, but plan.seeds is 0, allowed: with seeds");
  for (const PlanBase& base : space.bases)
    if (base.scenario.stalls != stalls)
      return refuse("stalls", "are those of all points, allowed: one value of each key");
}

/// Bounds take every product at the clock of the power limit.
void refuse_power_cap(const PlanSpace& space, const Node& root, Reading& reading) {
  for (const PlanBase& base : space.bases)
    if (base.scenario.cluster.device.power_cap)
      return reading.report(
          place_of(root, "cluster"), "cluster.device.power_cap",
          "is not searched: bounds hold at the clock of the limit, allowed: none");
}

/// Bounds count states, reductions and gathers of parameters that are all trained.
void refuse_adapters(const PlanSpace& space, const Node& root, Reading& reading) {
  constexpr const char* key = "training.adapters.rank";
  for (const PlanBase& base : space.bases)
    if (base.scenario.workload.training.adapters.any())
      return reading.report(place_of(root, key), key,
                            "is not searched: bounds are those of full training, allowed: 0");
}

/// Settings that go with loads that differ, for a plan without them.
std::string of_uneven_loads(const MoeSpec& moe) {
  std::string settings;
  if (moe.placement != MoeSpec::Placement::contiguous)
    settings += " --set 'moe.placement=contiguous'";
  if (moe.spare_experts > 0) settings += " --set 'moe.spare_experts=0'";
  if (moe.relocation.every) settings += " --set 'moe.relocation=null'";
  return settings;
}

/// What nothing is known of is not compared.
void refuse_measures(const PlanSpace& space, const Node& plan, Reading& reading) {
  const std::vector<std::string>& names = space.spec.frontier;
  const auto refuse = [&](const char* key, const std::string& message) {
    reading.report(place_of(plan, key), std::string("plan.") + key, message);
  };
  std::string allowed;
  for (const auto& [word, measure] : plan_measures())
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  if (!names.empty() && (names.size() != 2 || names.front() == names.back() ||
                         frontier_measures(space.spec).size() != 2))
    refuse("frontier", "is not two of the measures, allowed: two different ones of " + allowed);
  const auto lacks = [&](const auto& known) {
    return std::ranges::any_of(space.bases,
                               [&](const PlanBase& base) { return !known(base.scenario); });
  };
  const auto refuse_where_asked = [&](const char* word, PlanMeasure measure, bool objective,
                                      const char* what) {
    if (objective)
      refuse("objective",
             "is " + std::string(word) + ", but " + what + ", allowed: another objective");
    if (std::ranges::count(names, std::string(name(measure))) > 0)
      refuse("frontier", "has " + std::string(word) + ", but " + what + ", allowed: others");
  };
  const PlanSpec::Objective objective = space.spec.objective;
  if (lacks([](const Scenario& s) { return cost_rate(s).value_or(0) > 0; }))
    refuse_where_asked("cost", PlanMeasure::cost, objective == PlanSpec::Objective::cost,
                       "cluster.costs has no price");
  // an idle device may take 0 W: its bound is then 0 as well, but the energy is known
  if (lacks([](const Scenario& s) { return s.cluster.device.power.has_value(); }))
    refuse_where_asked("energy", PlanMeasure::energy, objective == PlanSpec::Objective::energy,
                       "cluster.device.power is not given");
}

/// What is asked of every base, because a list of `plan.search` may give the key to any of them.
void refuse_base(const Scenario& base, const Node& root, Reading& reading) {
  const auto refuse = [&](const char* path, std::string message) {
    reading.report(place_of(root, path), path, std::move(message));
  };
  const WorkloadSpec& workload = base.workload;
  const ScheduleSpec& schedule = base.schedule;
  if (workload.plan.dp_given) refuse("parallel.dp", "follows from the other sizes, allowed: auto");
  if (workload.plan.dp_replicate > 1)
    refuse("parallel.dp_replicate", "is not searched, allowed: 1");
  if (base.cluster.network.platform)
    refuse("cluster.network.platform",
           "is a platform file, whose links plans do not search; --set 'cluster={extends: " +
               std::string(base.cluster.device.vendor == "nvidia" ? "clusters/dgx-h100.yaml"
                                                                  : "clusters/atlas-800t-a2.yaml") +
               "}' has links that they do");
  if (workload.plan.hpz > 1) refuse("parallel.hpz", "is not searched, allowed: 1");
  if (schedule.balanced_slices || !schedule.slice_tokens.empty())
    refuse("schedule.slices", "give tokens, which plans do not search; --set 'schedule.slices=" +
                                  std::to_string(schedule.slices) + "' has as many alike");
}

}  // namespace

/// A key that the bound does not know would make a proof of nothing, so that it is refused and not
/// ignored.
void refuse_what_is_not_searched(const PlanSpace& space, const Node& root, const Node& plan,
                                 Reading& reading) {
  const Scenario& first = space.bases.front().scenario;
  const auto refuse = [&](const char* path, const std::string& message) {
    reading.report(place_of(root, path), path, message);
  };
  if (first.synthetic)
    refuse(
        "workload",
        "has given times and no model to split, allowed: a model; 'stepcast new --model llama2-7b "
        "--cluster dgx-h100 --devices 8' writes a scenario with one");
  refuse_stalls(space, root, plan, reading);
  refuse_power_cap(space, root, reading);
  refuse_adapters(space, root, reading);
  if (first.workload.training.recompute == TrainingSpec::Recompute::table)
    refuse("training.recompute", "is a table of one plan, allowed: none, selective, full, search");
  if (first.workload.training.recompute == TrainingSpec::Recompute::modules)
    refuse("training.recompute",
           "is by module, which plans do not search, allowed: none, selective, full, search");
  if (first.workload.model.has_windows())
    refuse("model.attention.window", "is not searched: plans take layers as alike, allowed: none");
  if (first.workload.model.linear)
    refuse("model.linear_attention", "is not searched: plans take layers as alike, allowed: none");
  if (first.workload.model.has_indexer())
    refuse("model.attention.index_heads", "is not searched, allowed: 0");
  if (first.workload.plan.layers != ParallelPlan::Layers::automatic)
    refuse("parallel.layers_per_chunk", "is a table of one plan, allowed: auto");
  if (first.workload.communication.gradient_exchange != CommunicationSpec::GradientExchange::reduce)
    refuse("communication.gradient.exchange", "is not searched, allowed: reduce");
  if (first.workload.runtime.update != 0)
    refuse("runtime.update", "is not searched, allowed: alone");
  if (first.workload.communication.scatter_gather)
    refuse("communication.pipeline.scatter_gather", "is not searched, allowed: false");
  for (const PlanBase& base : space.bases) refuse_base(base.scenario, root, reading);
  if (!first.schedule.table.empty())
    refuse("schedule.pipeline",
           "is a table of one shape, allowed: interleaved_1f1b, zb_h1, gpipe, 1f1b");
  if (first.schedule.data.documents)
    refuse("schedule.data.documents",
           "are not searched; --set 'schedule.data=null' takes whole sequences");
  const bool uneven = first.workload.moe.routing.distribution != RoutingSpec::Distribution::uniform;
  if (uneven)
    refuse("moe.routing.distribution", "is not searched; --set 'moe.routing=null'" +
                                           of_uneven_loads(first.workload.moe) +
                                           " takes experts that get alike");
  refuse_measures(space, plan, reading);
  const auto currency = [](const PlanBase& base) {
    const auto& costs = base.scenario.cluster.costs;
    return costs ? costs->currency : std::string();
  };
  for (const PlanBase& base : space.bases)
    if (currency(base) != currency(space.bases.front()))
      return refuse("cluster.costs.currency", "is that of all points, allowed: one value");
  if (first.simulate.steps > 1) refuse("simulate.steps", "must be 1 in a plan, allowed: 1");
  if (first.schedule.put_off) refuse("schedule.put_off", "is not searched, allowed: auto");
  if (first.schedule.post_validation)
    refuse("schedule.post_validation", "is not searched: the bound is of one step, allowed: false");
}

}  // namespace stepcast
