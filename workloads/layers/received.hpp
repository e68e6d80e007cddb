#pragma once
#include "stepcast/workloads/operators.hpp"

/// What a stage receives. Private to workloads/.
namespace stepcast {

/// The gather of the input, or of the gradient, of which every tensor rank received a part.
Passes received(const LayerContext& context, bool gradient);

}  // namespace stepcast
