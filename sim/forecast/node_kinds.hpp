#pragma once
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/replay/replay.hpp"

/// Clusters whose nodes are of several kinds. docs/models/heterogeneous.md.
namespace stepcast {

/// The fabric with what is slow or broken in it.
Fabric fabric_of(const Scenario& scenario);

/// Programs of each kind; nothing where all nodes are alike.
std::optional<KindPrograms> kind_programs(const Scenario& scenario, const LayerTable& layers,
                                          const Placement& placement);

/// Of the stage's devices the one with the least room left. `fullest` is LayerLoads::fullest().
MemoryBudget tightest_memory(const Scenario& scenario, const LayerTable& layers, Stage stage,
                             const std::vector<std::vector<double>>& moments, double fullest);

/// How far the groups that some program calls reach, by kind of group.
std::vector<GroupReach> group_fabrics(const Scenario& scenario, const Fabric& fabric,
                                      const Placement& placement,
                                      const std::vector<StageProgram>& programs);

}  // namespace stepcast
