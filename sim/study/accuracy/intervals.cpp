#include "stepcast/sim/study/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

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

QuotientRange range_of(const Rows& rows, Quotient quotient) {
  std::vector<double> logs;
  for (const MeasuredRow* row : rows) logs.push_back(std::log(quotient(*row)));
  if (logs.empty()) return {};
  return {std::exp(quantile(logs, tail)), std::exp(quantile(logs, 1 - tail))};
}

/// The range of the narrowest class that has rows enough, or of the widest.
QuotientRange range_of(const Rows& rows, const Widening& classes, Quotient quotient) {
  for (const Chooser& chosen : classes)
    if (const Rows some = chosen_rows(rows, chosen); some.size() >= least_rows)
      return range_of(some, quotient);
  return range_of(chosen_rows(rows, classes.back()), quotient);
}

IntervalClass interval_class(const Rows& unseen, std::string name, const Widening& classes,
                             Quotient quotient = of_steps) {
  IntervalClass result{std::move(name)};
  const Rows rows = chosen_rows(unseen, classes.front());
  result.rows = rows.size();
  result.range = range_of(unseen, classes, quotient);
  std::vector<double> widths;
  double inside = 0;
  for (const MeasuredRow* row : rows) {
    const Rows others =
        chosen_rows(unseen, [&](const MeasuredRow& r) { return r.family != row->family; });
    const QuotientRange range = range_of(others, classes, quotient);
    widths.push_back(range.high - range.low);
    inside += quotient(*row) >= range.low && quotient(*row) <= range.high ? 1 : 0;
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
