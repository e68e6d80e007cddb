#pragma once
#include "stepcast/workloads/memory.hpp"

/// Activations beside the layers (docs/models/memory.md).
namespace stepcast {

/// As layer_activations() where the load of the fullest rank (LayerLoads::fullest()) is known
/// already: drawing it takes all layers and the steps before a relocation.
Bytes layer_activations(const WorkloadSpec& spec, double fullest, bool moe_layer,
                        TrainingSpec::Recompute mode, SoftmaxState state, bool linear);

/// Those of them that wait on the host (`training.offload.activations`).
Bytes away_activations(const WorkloadSpec& spec, double fullest, bool moe_layer,
                       TrainingSpec::Recompute mode, SoftmaxState state, bool linear);

/// Logits of one micro-batch on the stage of the head, in the model's precision and, without a
/// fused cross entropy, in FP32, with the final norm.
Bytes head_activations(const WorkloadSpec& spec);
/// What one MTP module keeps of one micro-batch beside its layer and its head: two norms and the
/// projection.
Bytes mtp_activations(const WorkloadSpec& spec);
/// Token numbers and positions of one micro-batch, and the dropout mask of its embedding.
Bytes input_activations(const WorkloadSpec& spec);

}  // namespace stepcast
