#pragma once
#include <vector>

#include "stepcast/workloads/operators.hpp"

namespace stepcast {

/// When in the end of a step a pass runs.
enum class UpdateMoment { before_reduction, behind_reduction, before_norm, behind_norm, at_end };

/// What one rank passes over: its gradients, and those that it updates with, in elements; and the
/// bytes of a gradient as it is accumulated and sent.
struct UpdateSizes {
  double held;
  double owned;
  double gradient_bytes;
};

/// The passes that `runtime.update` names, of this moment and in their order, each bound by memory
/// (docs/models/data_parallel.md, "Passes beside the update").
std::vector<Operator> update_operators(const RuntimeSpec& runtime, const UpdateSizes& sizes,
                                       UpdateMoment moment);

/// Bytes that the passes hold at their worst moment beyond the gradients that the rank has; those
/// that their code gives back until then are taken off. `largest`: elements of the largest
/// parameter tensor (docs/models/memory.md).
double update_held(const RuntimeSpec& runtime, const UpdateSizes& sizes, double largest);

/// The bytes of a gradient when its norm is taken and the update reads it: a cast made it FP32.
double updated_gradient_bytes(const RuntimeSpec& runtime, double gradient_bytes);

}  // namespace stepcast
