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

/// "-37 %", below a tenth of the whole "+2.4 %", below a hundredth "-0.31 %".
std::string percent_text(double percent);

/// Smaller parts of a step are what rounding leaves.
inline constexpr double least_part = 1e-9;

inline std::string signed_time(double seconds) {
  constexpr double rounding = 1e-10;  // of sums of parts
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

/// "30.0 s instead of 317 s (-50.5 %)", where batches differ with " for 2 times the tokens: -75 %
/// per token"; the verdict of a difference begins with it.
std::string result_sentence(const DiffSide& before, const DiffSide& after);
/// What published pairs say of the difference, by the time per token and device where both sides
/// have tokens; nothing for another model.
std::optional<PairCount> pairs_of(const DiffSide& before, const DiffSide& after,
                                  const std::vector<PublishedPair>& pairs);
/// A line, empty without pairs.
std::string pairs_line(const DiffSide& before, const DiffSide& after,
                       const std::vector<PublishedPair>& pairs, const char* begin);
/// The inputs that differ, behind the result, with `between` two values.
std::string inputs_block(const std::vector<DiffSide>& sides, InputList list, const char* between);

/// Names the parts that a side does not have and that others spend time in; empty without such.
std::string missing_note(const std::vector<DiffSide>& sides);

}  // namespace stepcast
