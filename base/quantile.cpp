#include "stepcast/base/quantile.hpp"

#include <algorithm>
#include <cstddef>

namespace stepcast {

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  // Linear between the two nearest values.
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

}  // namespace stepcast
