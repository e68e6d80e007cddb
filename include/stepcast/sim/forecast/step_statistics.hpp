#pragma once
#include <vector>

#include "stepcast/base/units.hpp"

namespace stepcast {

/// Times of the steps after the first, which starts with an empty pipeline and cold
/// loaders.
struct StepStatistics {
  Seconds first{0};
  Seconds mean{0}, p50{0}, p95{0}, p99{0}, longest{0};
};

/// Statistics of at least two steps. A percentile is the smallest time that so many of
/// the steps do not exceed (nearest rank).
StepStatistics step_statistics(const std::vector<Seconds>& steps);

}  // namespace stepcast
