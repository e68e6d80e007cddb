#include "stepcast/sim/forecast/step_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepcast/base/errors.hpp"

namespace stepcast {

StepStatistics step_statistics(const std::vector<Seconds>& steps) {
  expects(steps.size() >= 2, "steps after the first");
  std::vector<Seconds> later(steps.begin() + 1, steps.end());
  std::ranges::sort(later);
  const auto percentile = [&later](double share) {
    // Nearest rank, as everywhere.
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(later.size())));
    return later[std::max<std::size_t>(rank, 1) - 1];
  };
  const Seconds sum = std::accumulate(later.begin(), later.end(), Seconds{0});
  return {.first = steps.front(),
          .mean = sum / static_cast<double>(later.size()),
          .p50 = percentile(0.5),
          .p95 = percentile(0.95),
          .p99 = percentile(0.99),
          .longest = later.back()};
}

}  // namespace stepcast
