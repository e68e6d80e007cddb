#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/study/point_result.hpp"
#include "stepcast/sim/study/sweep.hpp"

namespace stepcast {

/// The table has points and, where there is a baseline, their efficiency. Fields: docs/sweeps.md.
struct PointTable {
  std::vector<PointResult> rows;
  std::vector<std::optional<double>> efficiency;  ///< as long as `rows`, or empty
};

/// This is the efficiency of a point that its seeds reach, from the 10 % quantile of the seeds to
/// their 90 % quantile; nothing without seeds or efficiency. The baseline is its mean.
struct EfficiencyBand {
  double p10 = 0, p50 = 0, p90 = 0;
};
std::optional<EfficiencyBand> efficiency_band(const PointTable& table, std::size_t row);

/// This text has one line per point for people, and what became of all.
std::string points_table(const PointTable& table);
/// This has a header and one line per point, with RFC 4180 quotes.
std::string points_csv(const PointTable& table);
/// This writes `{"stepcast": .., "sweep": name, "points": [..]}`; `name` may be empty.
std::string points_json(const std::string& name, const PointTable& table);

}  // namespace stepcast
