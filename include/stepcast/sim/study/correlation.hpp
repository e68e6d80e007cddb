#pragma once
#include <vector>

namespace stepcast {

/// Spearman's rank correlation, ties at their mean rank; 1 when nothing varies.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stepcast
