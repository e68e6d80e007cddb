#pragma once
#include <vector>

#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// The programs of all stages as lower_stage() has them, by stage. Rows of layers are made once for
/// all stages, and stages that hold alike layers are lowered once.
std::vector<StageProgram> lower_stages(const WorkloadSpec& spec, const LayerTable& layers,
                                       const ClusterSpec& cluster);

}  // namespace stepcast
