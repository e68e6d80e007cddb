#pragma once

#include "stepcast/workloads/program.hpp"

/// Private to workloads/.
namespace stepcast {

/// The part of what training one token asks for that `slice` holds; the slices of a table add up
/// to model_flops_per_step.
double slice_training_flops(const WorkloadSpec& spec, const LayerTable::Slice& slice);

}  // namespace stepcast
