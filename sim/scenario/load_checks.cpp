#include <string>

#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/workloads/expert_loads.hpp"

// Keys about loads that change from layer to layer and step to step, and about what balances them
// (docs/models/expert_parallel.md, "Loads that live"): those that change nothing are refused.
namespace stepcast {
namespace {

using Distribution = RoutingSpec::Distribution;

/// Steps that a log holds.
std::int64_t logged_steps(const WorkloadSpec& workload) {
  const RoutingSpec& routing = workload.moe.routing;
  const auto experts = static_cast<std::size_t>(workload.model.moe->experts);
  const std::size_t layers =
      routing.layers == RoutingSpec::Layers::own ? count_moe_layers(workload.model) : 1;
  return static_cast<std::int64_t>(routing.counts.size() / (experts * layers));
}

bool change_by_step(const WorkloadSpec& workload) {
  const RoutingSpec& routing = workload.moe.routing;
  switch (routing.distribution) {
    case Distribution::uniform:
      return false;
    // Popularities drift only when they differ at all and have a lifetime.
    case Distribution::zipf:
      return routing.lifetime && routing.exponent > 0;
    case Distribution::random:
      return true;
    case Distribution::file:
      break;
  }
  return logged_steps(workload) > 1;
}

/// Whether it matters which experts are popular: ranks share them, or some drop tokens or rest.
bool loads_matter(const WorkloadSpec& workload) {
  return workload.plan.ep > 1 || workload.moe.capacity_factor || !workload.training.active_experts;
}

/// One rank computes all pairs, in whatever order of popularity.
void check_matters(const WorkloadSpec& workload, Checks& checks) {
  if (loads_matter(workload)) return;
  const RoutingSpec& routing = workload.moe.routing;
  const auto idle = [&](bool unset, const std::string& key, const std::string& is,
                        const std::string& allowed) {
    checks.require_use(
        unset, "moe.routing." + key,
        "is " + is + " but ep is 1: a rank computes the tokens of all experts, allowed: " +
            allowed + ", or ep > 1, moe.capacity_factor or training.offload.active_experts routed");
  };
  idle(routing.layers == RoutingSpec::Layers::shared, "layers", "own", "shared");
  idle(!routing.lifetime, "lifetime", "given", "none");
  idle(routing.step == 0, "step", count_text(routing.step), "0");
}

void check_routing(const WorkloadSpec& workload, Checks& checks) {
  const RoutingSpec& routing = workload.moe.routing;
  checks.require_use(
      routing.layers == RoutingSpec::Layers::shared ||
          routing.distribution != Distribution::uniform,
      "moe.routing.layers",
      "is own but all experts are loaded alike, allowed: shared, or distribution zipf, "
      "random or file");
  checks.require_use(!routing.lifetime || routing.exponent > 0, "moe.routing.lifetime",
                     "is given but exponent 0 makes all experts alike, allowed: none");
  if (routing.step == 0) return;
  if (!checks.require_use(change_by_step(workload), "moe.routing.step",
                          "is " + count_text(routing.step) +
                              " but loads are the same in every step, allowed: 0, or zipf with a "
                              "lifetime, random, or a file of several steps"))
    return;
  const bool file = routing.distribution == Distribution::file;
  // A file repeats nothing: its last step is the last that can be asked for. Drawn loads have a
  // next step always.
  const std::int64_t steps = file ? logged_steps(workload) : routing.step + 1;
  checks.require(routing.step < steps, "moe.routing.step",
                 "is " + count_text(routing.step) + " but moe.routing.file holds the steps 0 to " +
                     count_text(steps - 1) + ", allowed: one of them");
}

/// Wherever experts of one load stand, ranks have the same to do.
void check_placement(const WorkloadSpec& workload, Checks& checks) {
  const RoutingSpec& routing = workload.moe.routing;
  const bool alike = routing.distribution == Distribution::uniform ||
                     (routing.distribution == Distribution::zipf && routing.exponent == 0);
  checks.require_use(
      !alike || workload.moe.placement == MoeSpec::Placement::contiguous, "moe.placement",
      "is balanced but all experts are loaded alike, allowed: contiguous, or moe.routing with "
      "distribution zipf with an exponent above 0, random or file");
}

void check_relocation(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  const RelocationSpec& relocation = moe.relocation;
  if (!relocation.every) {
    checks.require_use(
        relocation.history == 1, "moe.relocation.history",
        "is " + count_text(relocation.history) + " but moe.relocation.every is never, allowed: 1");
    return;
  }
  // Moving experts costs time in a real job and changes nothing where no load decides about places.
  const bool places = moe.placement == MoeSpec::Placement::balanced || moe.spare_experts > 0;
  checks.require_use(places && workload.plan.ep > 1, "moe.relocation.every",
                     "is given but nothing is placed by its load, allowed: never, or placement "
                     "balanced or spare_experts, and ep > 1");
  checks.require_use(
      change_by_step(workload), "moe.relocation.every",
      "is given but loads are the same in every step, allowed: never, or zipf with a "
      "lifetime, random, or a file of several steps");
}

void check_copies(const WorkloadSpec& workload, Checks& checks) {
  const MoeSpec& moe = workload.moe;
  const ParallelPlan& plan = workload.plan;
  if (moe.spare_experts == 0) return;
  const auto require = [&](bool good, const std::string& why) {
    checks.require(good, "moe.spare_experts",
                   "is " + count_text(moe.spare_experts) + why + ", allowed: 0");
  };
  const auto needs = [&](bool good, const std::string& why) {
    checks.require_use(good, "moe.spare_experts",
                       "is " + count_text(moe.spare_experts) + why + ", allowed: 0");
  };
  needs(plan.ep > 1, " but ep is 1: a rank holds all experts");
  needs(moe.routing.distribution != Distribution::uniform,
        " but all experts are loaded alike (moe.routing)");
  require(!moe.capacity_pad, " but every expert computes as many rows (moe.capacity_pad)");
  require(plan.zero <= 1, " but gradients of experts are sharded (parallel.zero)");
  require(!workload.training.offload_experts && workload.training.active_experts == 1.0,
          " but experts live on the host, or work in part (training.offload)");
  // Shares of experts per rank are whole only then; another check has spoken.
  if (plan.ep <= 1 || workload.model.moe->experts % plan.ep != 0) return;
  const std::int64_t others = workload.model.moe->experts - workload.model.moe->experts / plan.ep;
  checks.require(moe.spare_experts <= others, "moe.spare_experts",
                 "is " + count_text(moe.spare_experts) + " but other ranks hold " +
                     count_text(others) + " experts, allowed: at most so many");
}

}  // namespace

bool loads_change(const WorkloadSpec& workload) {
  return loads_matter(workload) && change_by_step(workload);
}

void check_loads(const WorkloadSpec& workload, Checks& checks) {
  if (!checks.good({"moe.routing.file"})) return;
  check_routing(workload, checks);
  check_matters(workload, checks);
  check_placement(workload, checks);
  check_relocation(workload, checks);
  check_copies(workload, checks);
}

void check_no_loads(const MoeSpec& moe, Checks& checks) {
  const std::string why = " but the model has no experts, allowed: ";
  checks.require_use(moe.routing.layers == RoutingSpec::Layers::shared, "moe.routing.layers",
                     "is own" + why + "shared");
  checks.require_use(moe.routing.step == 0, "moe.routing.step", "is set" + why + "0");
  checks.require_use(moe.spare_experts == 0, "moe.spare_experts", "is set" + why + "0");
  checks.require_use(!moe.relocation.every, "moe.relocation.every", "is set" + why + "never");
  checks.require_use(moe.relocation.history == 1, "moe.relocation.history", "is set" + why + "1");
}

}  // namespace stepcast
