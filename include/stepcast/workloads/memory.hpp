#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/workloads/program.hpp"

/// The memory of one device. Itemisation and sources: docs/models/memory.md.
namespace stepcast {

/// The bytes on one device of a stage at its worst moment.
struct MemoryBudget {
  Bytes parameters{0}, gradients{0}, optimizer{0}, activations{0}, buffers{0};
  Bytes moments{0};        ///< of the optimizer, those of Adam
  Bytes communicators{0};  ///< of the buffers, outside the framework's allocator
  Bytes update{0};         ///< what the optimizer's update allocates, when activations are gone
  /// What the framework's allocator keeps for activations and update; 0: not asked for, not known.
  Bytes cached{0};
  Bytes capacity{0};  ///< device memory minus reserve
  Bytes reserve{0};
  Bytes host{0};              ///< what all devices of a host keep there, when all are of this stage
  Bytes host_capacity{0};     ///< memory of that host; 0: not known
  Bytes storage{0};           ///< what they keep on its drives
  Bytes storage_capacity{0};  ///< of those; 0: not known
  /// The part of forward and backward passes.
  Bytes passes() const { return parameters + gradients + optimizer + activations + buffers; }
  Bytes peak() const {
    return parameters + gradients + optimizer + std::max(activations, update) + buffers;
  }
  bool fits_memory() const { return host_capacity <= Bytes{0} || host <= host_capacity; }
  bool fits_storage() const { return storage_capacity <= Bytes{0} || storage <= storage_capacity; }
  /// The host, with its memory and its drives.
  bool fits_host() const { return fits_memory() && fits_storage(); }
  bool fits() const { return peak() <= capacity && fits_host(); }
};

/// Says what a published number counts (docs/models/memory.md). `budget` is the peak,
/// `allocated` that of tensors alone, without buffers of communicators. `first_step` is the most
/// that tensors take up to the end of the first step, whose passes have no moments yet. `device` is
/// all that the device holds when a step has ended, with the reserve and what the allocator keeps
/// of passes and update.
enum class MemoryCount { budget, allocated, first_step, device };
Bytes counted(const MemoryBudget& budget, MemoryCount count);

/// One micro-batch leaves these bytes of activations behind on one layer of one rank, by recompute
/// mode. `selective` recomputes the attention core, `full` keeps the layer's input only; `table`
/// counts as `none`, as the recomputed layers of a table are `full` ones. `moe_layer` needs a model
/// with experts, `linear` one with linear attention.
Bytes layer_activations(const WorkloadSpec& spec, bool moe_layer, TrainingSpec::Recompute mode,
                        SoftmaxState state = SoftmaxState::wide, bool linear = false);

/// `moments[moment][chunk]`: micro-batches of each chunk (with plan.slices, slices of them, each by
/// its plan.slice_weight) whose activations are held at once on this stage; the moment that holds
/// most bytes counts. At least one moment. The softmax state is that of the cluster's device.
/// `fullest`: LayerLoads::fullest() of the workload, where that is known.
MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<std::vector<double>>& moments,
                          std::optional<double> fullest = {});
/// With whole micro-batches or equal slices.
MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<std::vector<int>>& moments);
/// Writes `budget.cached`, of one of PyTorch's, where the order of tensors is known. Some
/// milliseconds, so that it is for those who compare with what a device holds.
void add_cached(MemoryBudget& budget, const WorkloadSpec& spec, const LayerTable& layers,
                Stage stage, const std::vector<std::vector<double>>& moments);
/// With one moment.
MemoryBudget stage_memory(const WorkloadSpec& spec, const LayerTable& layers,
                          const ClusterSpec& cluster, Stage stage,
                          const std::vector<int>& in_flight);

/// One copy of what training keeps for every parameter of the model, in the bytes that it is kept
/// in, wherever it is held.
struct ModelStates {
  Bytes parameters{0}, gradients{0}, optimizer{0};
};
ModelStates states_of(const WorkloadSpec& spec);

}  // namespace stepcast
