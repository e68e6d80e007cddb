#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/sweep/point_result.hpp"
#include "stepcast/sim/sweep/sweep.hpp"

namespace stepcast {

/// A published size, and the efficiency of the forecast there.
struct PublishedPoint {
  std::int64_t devices = 0;
  double efficiency = 0, forecast = 0;
};
/// A published curve beside that of a table, which it meets at its first size.
struct PublishedCurve {
  std::string name, source;
  bool same_plan = false;              ///< groups, and what is sharded, are those of the table
  std::vector<PublishedPoint> points;  ///< two at least
};

/// The table has points and, where there is a baseline, their efficiency. Fields: docs/sweeps.md.
struct PointTable {
  std::vector<PointResult> rows;
  std::vector<std::optional<double>> efficiency;  ///< as long as `rows`, or empty
  std::vector<PublishedCurve> published = {};     ///< of `stepcast scale`
};

/// The efficiency of a point that its seeds reach, from the 10 % quantile of the seeds to
/// their 90 % quantile; nothing without seeds or efficiency. The baseline is its mean.
struct EfficiencyBand {
  double p10 = 0, p50 = 0, p90 = 0;
};
std::optional<EfficiencyBand> efficiency_band(const PointTable& table, std::size_t row);

/// Says which rows of a table to show, and in which order.
struct RowChoice {
  std::string sort;  ///< `mfu`, `step_time_s:desc`, `parallel.vpp`; empty: as they are
  std::optional<std::size_t> best;  ///< so many, by `sort` (or the step time), of those that fit
  std::string pareto;  ///< `step_time_s,peak_memory_bytes`: those that no other one beats in all
};
/// A column is a number of the table or a key that varies; better ones come first, which is more
/// for rates, MFU, HFU and efficiency and less for all else, unless `:asc` or `:desc` says so. Rows
/// without the number come last. Throws InputError for a column that is none.
PointTable arranged(PointTable table, const RowChoice& choice);

/// A text with one line per point for people, and what became of all; names of points are
/// shortened where a line is longer than `columns` (0: any length).
std::string points_table(const PointTable& table, std::size_t columns = 0);
/// Has a header and one line per point, with RFC 4180 quotes.
std::string points_csv(const PointTable& table);
/// Writes `{"stepcast": .., "sweep": name, "points": [..]}`; `name` may be empty.
std::string points_json(const std::string& name, const PointTable& table);

}  // namespace stepcast
