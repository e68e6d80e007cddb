#include <algorithm>

#include "node_kinds.hpp"
#include "resolving.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/network/solitary.hpp"

// What can be checked only once the layers are assigned and the programs are lowered.
namespace stepcast {
namespace {

/// A stage cannot compute more layers again than it has.
void check_recompute(const Scenario& scenario, const LayerTable& layers, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  if (scenario.synthetic || training.recompute != TrainingSpec::Recompute::table) return;
  for (std::size_t c = 0; c < layers.slices.size(); ++c) {
    for (std::size_t s = 0; s < layers.slices[c].size(); ++s) {
      const std::int64_t wanted = training.recompute_layers[c][s];
      const std::int64_t held = layers.slices[c][s].count;
      checks.require(wanted <= held, "training.recompute",
                     "recomputes " + count_text(wanted) + " layers of chunk " + std::to_string(c) +
                         " on stage " + std::to_string(s) + ", which has " + count_text(held) +
                         ", allowed: 0 to " + count_text(held));
    }
  }
}

struct LargestGroup {
  std::uint32_t ranks = 0;
  GroupKind kind = GroupKind::world;
  std::string call;
};

/// Of all groups that a call of the job uses; world calls that run alone stay ports.
LargestGroup largest_group(const std::vector<StageProgram>& programs, const Placement& placement) {
  const bool world_alone = world_runs_alone(programs);
  LargestGroup largest;
  for (const StageProgram& program : programs)
    for (const StageCall& call : program.calls) {
      if (call.over_host_link() || (call.group == GroupKind::world && world_alone)) continue;
      const std::uint32_t ranks = placement.group_size(call.group);
      if (ranks > largest.ranks) largest = {ranks, call.group, call.name};
    }
  return largest;
}

/// `simulate.network: pairwise` has a largest group.
void check_pairwise(const std::vector<StageProgram>& programs, const Placement& placement,
                    Checks& checks) {
  const LargestGroup largest = largest_group(programs, placement);
  checks.require(largest.ranks <= most_pairwise_members, "simulate.network",
                 "is pairwise, but the " + std::string(name(largest.kind)) + " group of " +
                     largest.call + " has " + std::to_string(largest.ranks) +
                     " ranks, allowed: ports, or groups of up to " +
                     std::to_string(most_pairwise_members));
}

/// A named algorithm must fit every group that calls it: planning the calls of the network says so.
void check_algorithms(const Scenario& scenario, const std::vector<StageProgram>& programs,
                      const Placement& placement) {
  const Fabric fabric = fabric_of(scenario);
  build_network_map({.placement = placement,
                     .fabric = fabric,
                     .programs = programs,
                     .algorithms = scenario.workload.communication.algorithms,
                     .form = scenario.simulate.network});
}

bool names_algorithms(const CollectiveChoice& choice) {
  return std::ranges::any_of(choice.algorithm, [](const std::string& a) { return a != "auto"; });
}

}  // namespace

void check_resolved(const Scenario& scenario, Checks& checks) {
  if (scenario.graph && scenario.graph->traced) return;  // its groups are its own
  const bool recomputes = scenario.workload.training.recompute == TrainingSpec::Recompute::table;
  const bool pairwise = scenario.simulate.network == NetworkForm::pairwise;
  const bool named = names_algorithms(scenario.workload.communication.algorithms);
  if (!recomputes && !pairwise && !named) return;  // the usual case, which costs nothing
  const LayerTable layers = layers_of(scenario);
  if (recomputes) check_recompute(scenario, layers, checks);
  if (!checks.all_good() || (!pairwise && !named)) return;
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);
  const Placement placement(scenario.workload.plan);
  if (pairwise) check_pairwise(programs, placement, checks);
  if (named && checks.all_good()) check_algorithms(scenario, programs, placement);
}

}  // namespace stepcast
