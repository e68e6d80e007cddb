#include "stepcast/base/quantile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace stepcast {
namespace {

/// Equal values share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) rank[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  // Linear between the two nearest values.
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  // A list of equal values has no order that another could contradict.
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 1;
}

}  // namespace stepcast
