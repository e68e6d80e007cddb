#include <algorithm>
#include <cmath>

#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {

ErrorFigures figures(std::vector<double> errors) {
  ErrorFigures f;
  f.rows = errors.size();
  if (errors.empty()) return f;
  const auto count = static_cast<double>(errors.size());
  for (double& e : errors) {
    f.bias += e / count;
    e = std::abs(e);
    f.mean += e / count;
  }
  std::ranges::sort(errors);
  const std::size_t middle = errors.size() / 2;
  f.median = errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  // The least error that 90 % of the rows do not exceed.
  f.p90 = errors[static_cast<std::size_t>(std::ceil(0.9 * count)) - 1];
  f.worst = errors.back();
  return f;
}

double Ledger::overall() const {
  std::vector<double> errors;
  for (const MeasuredRow& row : rows)
    if (row.model && row.counts()) errors.push_back(row.error());
  return figures(std::move(errors)).mean;
}

}  // namespace stepcast
