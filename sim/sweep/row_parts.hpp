#pragma once
#include <vector>

#include "stepcast/sim/point_result.hpp"

namespace stepcast {

/// Seconds of a simulated point by breakdown_names().
inline std::vector<double> row_parts(const PointResult& row) {
  std::vector<double> parts;
  for (const std::string& part : breakdown_names()) {
    const bool exposed = parts.size() > 0 && parts.size() <= exposed_kinds;
    parts.push_back(*row.number((exposed ? "exposed_" : "") + part + "_s"));
  }
  return parts;
}

}  // namespace stepcast
