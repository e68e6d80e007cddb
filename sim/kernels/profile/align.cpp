#include "align.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double shortest_launch = 1e-9;  ///< s; a profiler writes 0 for what it cannot measure
constexpr double most_steps = 4e7;
constexpr int rounds = 4;  ///< of a ratio and the pairs that follow from it

std::vector<double> logarithms(const std::vector<double>& durations) {
  std::vector<double> logs;
  for (const double d : durations) logs.push_back(std::log(std::max(d, shortest_launch)));
  return logs;
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// partner[i] of `small` in `large`, evenly spread.
std::vector<std::size_t> spread(std::size_t small, std::size_t large) {
  std::vector<std::size_t> partner(small);
  for (std::size_t i = 0; i < small; ++i) partner[i] = i * large / small;
  return partner;
}

/// The same by least deviation from `shift` between the logarithms: row i of the table has the
/// least cost of the first i of `small` with j of `large` left out before them.
std::vector<std::size_t> best(const std::vector<double>& small, const std::vector<double>& large,
                              double shift) {
  const std::size_t extra = large.size() - small.size(), width = extra + 1;
  std::vector<double> cost(width, 0), next(width);
  std::vector<bool> left_out(small.size() * width, false);
  for (std::size_t i = 0; i < small.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      next[j] = cost[j] + std::abs(large[i + j] - small[i] - shift);
      if (j > 0 && next[j - 1] < next[j]) {
        next[j] = next[j - 1];
        left_out[i * width + j] = true;
      }
    }
    std::swap(cost, next);
  }
  std::vector<std::size_t> partner(small.size());
  // Backwards, from where all that has to be left out is.
  std::size_t j = extra;
  for (std::size_t i = small.size(); i-- > 0;) {
    while (left_out[i * width + j]) --j;
    partner[i] = i + j;
  }
  return partner;
}

double shift_of(const std::vector<double>& small, const std::vector<double>& large,
                const std::vector<std::size_t>& partner) {
  std::vector<double> shifts;
  for (std::size_t i = 0; i < small.size(); ++i) shifts.push_back(large[partner[i]] - small[i]);
  return middle_of(std::move(shifts));
}

}  // namespace

Alignment align(const std::vector<double>& first, const std::vector<double>& second) {
  Alignment result;
  const bool swapped = first.size() > second.size();
  const std::vector<double> small = logarithms(swapped ? second : first);
  const std::vector<double> large = logarithms(swapped ? first : second);
  // A first ratio, from pairs that are spread evenly.
  std::vector<std::size_t> partner = spread(small.size(), large.size());
  double shift = small.empty() ? 0 : shift_of(small, large, partner);
  const auto size = static_cast<double>(small.size());
  // Cells of the table that best() fills.
  const bool chosen = size * static_cast<double>(large.size() - small.size() + 1) <= most_steps;
  for (int round = 0; round < rounds && chosen && small.size() < large.size() && size > 0;
       ++round) {
    partner = best(small, large, shift);
    shift = shift_of(small, large, partner);
  }
  std::vector<bool> paired(large.size(), false);
  for (std::size_t i = 0; i < small.size(); ++i) {
    paired[partner[i]] = true;
    result.pairs.emplace_back(swapped ? partner[i] : i, swapped ? i : partner[i]);
  }
  for (std::size_t i = 0; i < large.size(); ++i)
    if (!paired[i]) (swapped ? result.only_first : result.only_second).push_back(i);
  if (!small.empty()) result.ratio = std::exp(swapped ? -shift : shift);
  return result;
}

}  // namespace stepcast
