#pragma once
#include <cstddef>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/workloads/layer_split.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// The stages of a scenario hold these layers; it is empty for a synthetic workload.
LayerTable layers_of(const Scenario& scenario);

/// The ends of the layers of each virtual stage where the scenario says `auto`. A loop of several
/// chunks takes, of even_ends() and lighter_ends(), the split whose pipeline is over first when
/// four micro-batches per stage run in Megatron's order; others take balanced_ends(). Links and
/// numbers of micro-batches change nothing (docs/models/operators.md, "Layers on stages").
std::vector<std::size_t> layer_ends(const LayerTimes& times, const ChunkMap& map);

}  // namespace stepcast
