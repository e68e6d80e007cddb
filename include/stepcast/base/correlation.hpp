#pragma once
#include <vector>

namespace stepcast {

/// Spearman's rank correlation, with ties at their mean rank; it is 1 when nothing varies.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stepcast
