#include "checks.hpp"
#include "solitary.hpp"
#include "stage_programs.hpp"

namespace stepcast {
namespace {

struct LargestGroup {
  std::uint32_t ranks = 0;
  GroupKind kind = GroupKind::world;
  std::string call;
};

/// Of all groups that a call of the job uses; world calls that run alone stay ports.
LargestGroup largest_group(const Scenario& scenario) {
  const LayerTable layers =
      scenario.synthetic ? LayerTable{} : assign_layers(scenario.workload, scenario.cluster.device);
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);
  const bool world_alone = world_runs_alone(programs);
  const Placement placement(scenario.workload.plan);
  LargestGroup largest;
  for (const StageProgram& program : programs)
    for (const StageCall& call : program.calls) {
      if (call.over_host_link() || (call.group == GroupKind::world && world_alone)) continue;
      const std::uint32_t ranks = placement.group_size(call.group);
      if (ranks > largest.ranks) largest = {ranks, call.group, call.name};
    }
  return largest;
}

}  // namespace

void check_network(const Scenario& scenario, Checks& checks) {
  if (scenario.simulate.network == NetworkForm::ports || !checks.all_good()) return;
  const LargestGroup largest = largest_group(scenario);
  checks.require(largest.ranks <= most_pairwise_members, "simulate.network",
                 "is pairwise, but the " + std::string(name(largest.kind)) + " group of " +
                     largest.call + " has " + std::to_string(largest.ranks) +
                     " ranks, allowed: ports, or groups of up to " +
                     std::to_string(most_pairwise_members));
}

}  // namespace stepcast
