#pragma once
#include <vector>

#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// The programs of all stages as lower_stage() has them, by stage. Rows of layers are made once for
/// all stages, and stages that hold alike layers are lowered once.
std::vector<StageProgram> lower_stages(const WorkloadSpec& spec, const LayerTable& layers,
                                       const ClusterSpec& cluster);
/// With loads that are known: layer_loads() of the workload.
std::vector<StageProgram> lower_stages(const WorkloadSpec& spec, const LayerTable& layers,
                                       const ClusterSpec& cluster, const LayerLoads& loads);

}  // namespace stepcast
