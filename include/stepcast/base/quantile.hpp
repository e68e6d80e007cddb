#pragma once
#include <vector>

namespace stepcast {

/// The value that the part `share` of at least one number lies below; between two numbers it is
/// interpolated. 0 <= share <= 1.
double quantile(std::vector<double> values, double share);

}  // namespace stepcast
