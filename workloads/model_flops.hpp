#pragma once
#include <cstdint>

#include "stepcast/workloads/program.hpp"

/// FLOPs by the model convention: 3 x forward, matmuls and half of the attention square. Private to
/// workloads/.
namespace stepcast {

/// Forward FLOPs of one token in layer `layer` (0..layers-1), projections of experts counted top_k
/// times.
double layer_forward_flops(const ModelSpec& model, std::int64_t layer, std::int64_t sequence);

/// Training FLOPs of one token in what `slice` holds.
double slice_training_flops(const ModelSpec& model, const LayerTable::Slice& slice,
                            std::int64_t sequence);

}  // namespace stepcast
