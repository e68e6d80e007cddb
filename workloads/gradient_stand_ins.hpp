#pragma once
#include <vector>

#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Elements of the empty tensors that autograd is given for gradients which their products have
/// added already, one for each shape of a weight of one rank, and one of the output layer
/// (`communication.gradient.stand_ins`; docs/models/memory.md). Layers of MTP modules are as the
/// last one.
double stand_in_elements(const WorkloadSpec& spec, const std::vector<LayerTable::Slice>& slices);

}  // namespace stepcast
