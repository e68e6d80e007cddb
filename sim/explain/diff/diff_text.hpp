#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/diff.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {

inline constexpr const char* not_compared =
    "  inputs: not compared, a result of an older version does not hold its own\n";

inline double change_percent(double before, double after) {
  return 100 * (after - before) / before;
}

inline std::string signed_time(double seconds) {
  constexpr double rounding = 1e-12;  // of sums of parts
  if (std::abs(seconds) < rounding) return "+0.00 s";
  return (seconds < 0 ? "-" : "+") + human(Seconds{std::abs(seconds)});
}

inline std::string time_or_dash(const std::optional<double>& seconds) {
  return seconds ? human(Seconds{*seconds}) : "-";
}

inline std::optional<double> change(const std::optional<double>& before,
                                    const std::optional<double>& after) {
  return before && after ? std::optional{*after - *before} : std::nullopt;
}

/// One part of the breakdown on every side.
struct PartRow {
  std::string name;
  std::vector<std::optional<double>> values;
};
/// Parts that are not 0 everywhere.
std::vector<PartRow> part_rows(const std::vector<DiffSide>& sides);

/// One number of the costs on every side, as `cost of a step, usd`.
struct CostRow {
  std::string name;
  std::vector<std::optional<double>> values;
  std::vector<std::string> texts;  ///< with the currency where sides have several
};
/// Of a step and of a million tokens; none where no side has prices.
std::vector<CostRow> cost_rows(const std::vector<DiffSide>& sides);
/// The change in percent; `-` where a side has no prices or other money.
std::string cost_change(const CostRow& row, const DiffSide& before, const DiffSide& after,
                        std::size_t place);

/// Names the parts that a side does not have and that others spend time in; empty without such.
std::string missing_note(const std::vector<DiffSide>& sides);

}  // namespace stepcast
