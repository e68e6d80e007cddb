#pragma once
#include <vector>

namespace stepcast {

/// The value that the part `share` of at least one number lies below; between two numbers it is
/// interpolated. 0 <= share <= 1.
double quantile(std::vector<double> values, double share);

/// Spearman's rank correlation, with ties at their mean rank; it is 1 when nothing varies.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stepcast
