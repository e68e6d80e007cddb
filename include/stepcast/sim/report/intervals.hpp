#pragma once
#include <vector>

namespace stepcast {

/// A stretch of time [s].
struct Interval {
  double from, to;
};
using Intervals = std::vector<Interval>;

/// The same points, in order and apart from each other.
Intervals united(Intervals intervals);
/// Of intervals that are apart.
double length(const Intervals& intervals);

}  // namespace stepcast
