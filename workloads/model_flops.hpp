#pragma once
#include <cstdint>

#include "stepcast/workloads/program.hpp"

/// Private to workloads/.
namespace stepcast {

/// The part of training_flops_per_token that `slice` holds; the slices of a table add up to the
/// whole.
double slice_training_flops(const ModelSpec& model, const LayerTable::Slice& slice,
                            std::int64_t sequence);

}  // namespace stepcast
