#pragma once
#include "stepcast/workloads/operators.hpp"

/// What a stage receives. Private to workloads/.
namespace stepcast {

/// Without sequence parallelism tensor ranks hand over a part each of what all of them hold; the
/// gather of the input, or of the gradient, on the other side.
Passes received(const LayerContext& context, bool gradient);

}  // namespace stepcast
