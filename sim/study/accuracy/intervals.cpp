#include "stepcast/sim/study/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "hardware_types.hpp"
#include "stepcast/base/quantile.hpp"

namespace stepcast {
namespace {

using Rows = std::vector<const MeasuredRow*>;
using Chooser = std::function<bool(const MeasuredRow&)>;

/// Of 20 rows, 80 % are known to within 18 points (two binomial deviations).
constexpr std::size_t least_rows = 20;
constexpr double tail = 0.1;  // the part below, and the part above

bool any(const MeasuredRow&) { return true; }
bool with_experts(const MeasuredRow& row) { return row.experts; }
bool dense(const MeasuredRow& row) { return !row.experts; }

/// A class and what it falls back on where it is small, wider and wider.
using Widening = std::vector<Chooser>;

Rows chosen_rows(const Rows& rows, const Chooser& chosen) {
  Rows result;
  std::ranges::copy_if(rows, std::back_inserter(result),
                       [&](const MeasuredRow* row) { return chosen(*row); });
  return result;
}

Rows unseen_rows(const Ledger& ledger) {
  Rows rows;
  for (const MeasuredRow& row : ledger.rows)
    if (row.model && row.counts() && row.label != RowLabel::fitted) rows.push_back(&row);
  return rows;
}

/// Those that report their memory.
bool of_memory(const MeasuredRow& row) { return row.memory_error().has_value(); }

/// Published over forecast, of what the rows of a class tell.
using Quotient = double (*)(const MeasuredRow&);
double of_steps(const MeasuredRow& row) { return row.published / row.forecast; }
double of_peaks(const MeasuredRow& row) { return *row.published_memory / *row.forecast_memory; }

/// In logarithms.
struct LogRange {
  double low = 0, high = 0;
  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
};

LogRange quantiles_of(const Rows& rows, Quotient quotient) {
  std::vector<double> logs;
  for (const MeasuredRow* row : rows) logs.push_back(std::log(quotient(*row)));
  if (logs.empty()) return {};
  return {quantile(logs, tail), quantile(logs, 1 - tail)};
}

/// The rows of the narrowest class that has enough, or of the widest.
Rows class_of(const Rows& rows, const Widening& classes) {
  for (const Chooser& chosen : classes)
    if (Rows some = chosen_rows(rows, chosen); some.size() >= least_rows) return some;
  return chosen_rows(rows, classes.back());
}

/// Quantiles of the narrowest class that has rows enough, or of the widest, and at least as wide as
/// those of the smaller classes inside it.
LogRange plain_range(const Rows& rows, const Widening& classes, Quotient quotient) {
  LogRange result = quantiles_of(class_of(rows, classes), quotient);
  for (const Chooser& chosen : classes) {
    const Rows some = chosen_rows(rows, chosen);
    if (some.size() >= least_rows) break;
    if (some.empty()) continue;
    const LogRange own = quantiles_of(some, quotient);
    result = {std::min(result.low, own.low), std::max(result.high, own.high)};
  }
  return result;
}

Rows without(const Rows& rows, const std::string& family) {
  return chosen_rows(rows, [&](const MeasuredRow& row) { return row.family != family; });
}

std::set<std::string> families_of(const Rows& rows) {
  std::set<std::string> families;
  for (const MeasuredRow* row : rows) families.insert(row->family);
  return families;
}

/// What the half width of the plain range of all sources but one has to be multiplied by so that
/// 80 % of the rows of sources left out in turn lie inside: rows of one source resemble each other
/// more than those of two. At least 1, so that no range is narrower than the plain one, and 1 where
/// there is no second source.
double stretch_of(const Rows& rows, const Widening& classes, Quotient quotient) {
  const Rows judged = class_of(rows, classes);
  std::vector<double> distances;  // from the middle, in half widths
  for (const std::string& family : families_of(judged)) {
    const LogRange range = plain_range(without(rows, family), classes, quotient);
    if (range.half() <= 0) continue;
    for (const MeasuredRow* row : judged)
      if (row->family == family)
        distances.push_back(std::abs(std::log(quotient(*row)) - range.middle()) / range.half());
  }
  return distances.empty() ? 1 : std::max(1.0, quantile(distances, 1 - 2 * tail));
}

QuotientRange range_of(const Rows& rows, const Widening& classes, Quotient quotient) {
  const LogRange plain = plain_range(rows, classes, quotient);
  const double half = plain.half() * stretch_of(rows, classes, quotient);
  return {std::exp(plain.middle() - half), std::exp(plain.middle() + half)};
}

IntervalClass interval_class(const Rows& unseen, std::string name, const Widening& classes,
                             Quotient quotient = of_steps) {
  IntervalClass result{std::move(name)};
  const Rows rows = chosen_rows(unseen, classes.front());
  result.rows = rows.size();
  result.range = range_of(unseen, classes, quotient);
  std::vector<double> widths;
  double inside = 0;
  for (const std::string& family : families_of(rows)) {
    const QuotientRange range = range_of(without(unseen, family), classes, quotient);
    for (const MeasuredRow* row : rows) {
      if (row->family != family) continue;
      widths.push_back(range.high - range.low);
      inside += quotient(*row) >= range.low && quotient(*row) <= range.high ? 1 : 0;
    }
  }
  if (rows.empty()) return result;
  result.inside = inside / static_cast<double>(rows.size());
  result.width = quantile(widths, 0.5);
  return result;
}

Widening of_type(const HardwareType& type, bool (*kind)(const MeasuredRow&)) {
  return {[&type, kind](const MeasuredRow& row) { return kind(row) && type.has(row); }, kind, any};
}

std::string range_text(const QuotientRange& range) {
  return fmt::format(
      "low: {{value: {:.4g}, source: fitted}}, high: {{value: {:.4g}, source: fitted}}", range.low,
      range.high);
}

}  // namespace

std::vector<IntervalClass> interval_classes(const Ledger& ledger) {
  const Rows unseen = unseen_rows(ledger);
  std::vector<IntervalClass> all{interval_class(unseen, "all", {any}),
                                 interval_class(unseen, "dense", {dense, any}),
                                 interval_class(unseen, "experts", {with_experts, any})};
  for (const auto& [word, kind] : {std::pair{"dense", &dense}, {"experts", &with_experts}})
    for (const HardwareType& type : hardware_types)
      all.push_back(
          interval_class(unseen, fmt::format("{}, {}", word, type.name), of_type(type, kind)));
  const Rows peaks = chosen_rows(unseen, of_memory);
  all.push_back(interval_class(peaks, "memory", {any}, of_peaks));
  for (const HardwareType& type : hardware_types)
    all.push_back(
        interval_class(peaks, fmt::format("memory, {}", type.name), of_type(type, any), of_peaks));
  std::erase_if(all, [](const IntervalClass& c) { return c.rows == 0; });
  return all;
}

std::vector<IntervalFile> interval_files(const Ledger& ledger) {
  const Rows unseen = unseen_rows(ledger);
  std::vector<IntervalFile> files;
  for (const HardwareType& type : hardware_types) {
    const std::size_t rows = chosen_rows(unseen, type.has).size();
    if (rows == 0) continue;
    const QuotientRange steps = range_of(unseen, of_type(type, dense), of_steps);
    const QuotientRange experts = range_of(unseen, of_type(type, with_experts), of_steps);
    const Rows peaks = chosen_rows(unseen, of_memory);
    const std::string memory =
        peaks.empty() ? ""
                      : fmt::format(",\n  memory: {{{}}}",
                                    range_text(range_of(peaks, of_type(type, any), of_peaks)));
    files.push_back(
        {fmt::format("interval-{}.yaml", type.fitted),
         fmt::format("# question: how far do steps of {} lie from their forecasts that no fit has "
                     "seen?\n# Written by stepcast accuracy --intervals; {} such steps.\n"
                     "extends: {}.yaml\nstepcast: 1\ninterval: {{{},\n  experts: {{{}}}{}}}\n",
                     type.name, rows, type.fitted, range_text(steps), range_text(experts),
                     memory)});
  }
  return files;
}

}  // namespace stepcast
