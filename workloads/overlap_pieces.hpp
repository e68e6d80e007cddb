#pragma once
#include "stepcast/base/describe.hpp"

namespace stepcast {

/// Pieces of a computation that hides its exchange: more than this leave nothing to overlap but
/// start costs.
inline constexpr Range overlap_pieces = between(1, 64);

}  // namespace stepcast
