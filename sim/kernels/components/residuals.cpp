#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast {
namespace {

using Measured = const MeasuredComponent*;
using MeasuredRows = std::vector<Measured>;
using KindOnDevice = std::pair<std::string, std::string_view>;

/// Of 20 rows, 80 % are known to within 18 points (two binomial deviations).
constexpr std::size_t enough_rows = 20;
/// One in ten lies below a range, one in ten above.
constexpr double part_below = 0.1;

/// Of a logarithm: twice as long and half as long are equally far off.
double log_quotient(Measured row) { return std::log(row->measured / row->forecast); }

QuotientRange range_of_logs(const std::vector<double>& logs) {
  return {std::exp(quantile(logs, part_below)), std::exp(quantile(logs, 1 - part_below))};
}

QuotientRange range_of(const MeasuredRows& rows) {
  std::vector<double> logs;
  for (const Measured row : rows) logs.push_back(log_quotient(row));
  return range_of_logs(logs);
}

QuotientRange joined_ranges(const QuotientRange& a, const QuotientRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// The value below which lies the part `share` of the weight of all rows.
double weighted_quantile(const std::vector<std::pair<double, double>>& sorted, double share) {
  double sum = 0, below = 0;
  for (const auto& [log, weight] : sorted) sum += weight;
  for (const auto& [log, weight] : sorted) {
    below += weight;
    if (below >= share * sum) return log;
  }
  return sorted.back().first;
}

/// All rows, where every kind of a device has the same weight whatever the number of its rows.
QuotientRange range_together(const std::map<KindOnDevice, MeasuredRows>& kinds) {
  std::vector<std::pair<double, double>> logs;
  for (const auto& [key, rows] : kinds)
    for (const Measured row : rows)
      logs.emplace_back(log_quotient(row), 1 / static_cast<double>(rows.size()));
  std::ranges::sort(logs);
  return {std::exp(weighted_quantile(logs, part_below)),
          std::exp(weighted_quantile(logs, 1 - part_below))};
}

MeasuredRows chosen(const ComponentLedger& ledger, const auto& condition) {
  MeasuredRows rows;
  for (const MeasuredComponent& row : ledger.rows)
    if (row.exclude.empty() && condition(row)) rows.push_back(&row);
  return rows;
}

/// The range of the kind on its device, of its class there, or of its class anywhere, whichever has
/// rows enough first, at least as wide as the smaller ones; with too few rows anywhere as wide as
/// `together`.
QuotientRange kind_range(const ComponentLedger& ledger, const MeasuredComponent& of,
                         const QuotientRange& together) {
  const auto same_kind = [&](const MeasuredComponent& row) {
    return row.kind == of.kind && row.device_name == of.device_name;
  };
  const auto same_class = [&](const MeasuredComponent& row) { return row.kind->of == of.kind->of; };
  const auto class_here = [&](const MeasuredComponent& row) {
    return same_class(row) && row.device_name == of.device_name;
  };
  // No range leaves out the forecast itself.
  QuotientRange range{1, 1};
  for (const MeasuredRows& rows :
       {chosen(ledger, same_kind), chosen(ledger, class_here), chosen(ledger, same_class)}) {
    range = joined_ranges(range, range_of(rows));
    if (rows.size() >= enough_rows) return range;
  }
  return joined_ranges(range, together);
}

std::string range_yaml(const QuotientRange& range) {
  return fmt::format(
      "low: {{value: {:.4g}, source: fitted}}, high: {{value: {:.4g}, source: fitted}}", range.low,
      range.high);
}

std::string names_yaml(const MeasuredRows& rows, std::string (*name_of)(const OperatorRequest&)) {
  std::set<std::string> names;
  for (const Measured row : rows) names.insert(name_of(row->request));
  return "[" + joined(std::vector<std::string>{names.begin(), names.end()}) + "]";
}

/// The sizes of the columns that the kind has.
std::string sizes_yaml(const MeasuredRows& rows, bool largest) {
  std::string text;
  for (std::size_t i = 0; i < operator_columns; ++i) {
    const auto column = static_cast<OperatorColumn>(i);
    std::vector<double> sizes;
    for (const Measured row : rows) sizes.push_back(size_of(row->request, column));
    const double size = largest ? std::ranges::max(sizes) : std::ranges::min(sizes);
    if (size > 0)
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", info(column).name, shortest(size));
  }
  return "{" + text + "}";
}

std::string kind_yaml(const ComponentLedger& ledger, const MeasuredRows& rows,
                      const QuotientRange& together) {
  const MeasuredComponent& first = *rows.front();
  std::string text =
      fmt::format("  - device: {}\n    kind: {}\n    rows: {}\n    {}\n", first.device_name,
                  first.kind->name, rows.size(), range_yaml(kind_range(ledger, first, together)));
  const std::size_t comma = text.rfind(", high: ");
  text.replace(comma, 2, "\n    ");
  text += "    types: " + names_yaml(rows, residual_type) + "\n";
  if (first.kind->of == OperatorClass::attention)
    text += "    generations: " + names_yaml(rows, residual_generation) + "\n";
  return text + "    least: " + sizes_yaml(rows, false) + "\n    most: " + sizes_yaml(rows, true) +
         "\n";
}

}  // namespace

std::string residuals_yaml(const ComponentLedger& ledger) {
  std::map<KindOnDevice, MeasuredRows> kinds;
  for (const Measured row : chosen(ledger, [](const MeasuredComponent&) { return true; }))
    kinds[{row->device_name, row->kind->name}].push_back(row);
  if (kinds.empty())
    refuse_input({}, "--intervals", "follow from judged rows, and there are no such rows");
  // Kinds with few rows take the range of all together, and the widest serves kinds without any.
  const QuotientRange together = range_together(kinds);
  QuotientRange widest = together;
  std::size_t count = 0;
  std::string list;
  for (const auto& [key, rows] : kinds) {
    widest = joined_ranges(widest, kind_range(ledger, *rows.front(), together));
    count += rows.size();
    list += kind_yaml(ledger, rows, together);
  }
  return fmt::format(
      "# question: how far do measured kernels and exchanges lie from their forecasts, and of "
      "which "
      "sizes were they?\n# Written by stepcast accuracy --components --intervals; {} rows of "
      "scenarios/measurements.\n# yaml-language-server: $schema=../schemas/residuals.json\n"
      "stepcast: 1\ntogether: {{{}}}\nwidest: {{{}}}\nresiduals:\n{}",
      count, range_yaml(together), range_yaml(widest), list);
}

}  // namespace stepcast
