#pragma once
#include <cstddef>
#include <vector>

/// Which launches of two lists are the same. Private to sim/kernels.
namespace stepcast {

/// Launches of both sides, by index in the lists given; the rest has no partner.
struct Alignment {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<std::size_t> only_first, only_second;
  double ratio = 0;  ///< median of second over first in pairs; 0 without pairs
};

/// Pairs two ascending lists of durations [s] in order, so that one of them goes up whole. Left out
/// of the longer one are those launches whose partners would deviate most from the common ratio:
/// the least sum of |log second - log first - log ratio| (docs/profile.md). Where that would take
/// more than 4e7 steps, those left out are spread evenly.
Alignment align(const std::vector<double>& first, const std::vector<double>& second);

}  // namespace stepcast
