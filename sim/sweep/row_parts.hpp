#pragma once
#include <vector>

#include "stepcast/sim/scenario/breakdown.hpp"
#include "stepcast/sim/sweep/point_result.hpp"

namespace stepcast {

/// Seconds of a simulated point by breakdown_names().
inline std::vector<double> row_parts(const PointResult& row) {
  std::vector<double> parts;
  for (const std::string& part : breakdown_names()) {
    const char* prefix = is_exposed_part(parts.size()) ? "exposed_" : "";
    parts.push_back(*row.number(prefix + part + "_s"));
  }
  return parts;
}

}  // namespace stepcast
