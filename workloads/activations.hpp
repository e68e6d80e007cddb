#pragma once
#include "stepcast/workloads/memory.hpp"

/// Activations beside the layers (docs/models/memory.md).
namespace stepcast {

/// Logits of one micro-batch on the stage of the head, in the model's precision and in FP32, with
/// the final norm.
Bytes head_activations(const WorkloadSpec& spec);
/// What one MTP module keeps of one micro-batch beside its layer and its head: two norms and the
/// projection.
Bytes mtp_activations(const WorkloadSpec& spec);
/// Token numbers and positions of one micro-batch, and the dropout mask of its embedding.
Bytes input_activations(const WorkloadSpec& spec);

}  // namespace stepcast
