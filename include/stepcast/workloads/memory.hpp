#pragma once
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Bytes on one device of a stage at its worst moment. Itemisation and sources: docs/models/memory.md.
struct MemoryBudget {
  Bytes parameters{0}, gradients{0}, optimizer{0}, activations{0}, buffers{0};
  Bytes capacity{0};    ///< device memory minus reserve
  Bytes peak() const { return parameters + gradients + optimizer + activations + buffers; }
  bool fits() const { return peak() <= capacity; }
};

/// Bytes of activations that one micro-batch leaves behind on one layer of one rank, by recompute mode.
Bytes layer_activations(const WorkloadSpec& spec, bool moe_layer, TrainingSpec::Recompute mode);

/// `in_flight[chunk]`: most micro-batches of the chunk whose activations are held at once on this stage.
MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers, const ClusterSpec& cluster,
                          Stage stage, const std::vector<int>& in_flight);

}  // namespace stepcast
