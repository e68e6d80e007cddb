#include "stepcast/sim/sweep/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "row_parts.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Work of a step on one device.
double work_per_device(const PointResult& row) {
  const double sequence = row.number("tokens_per_s") ? *row.number("sequence") : 1;
  return *row.number("global_batch") * sequence / *row.number("devices");
}

const PointResult* baseline_of(const Sweep& sweep, const PointResult& row,
                               const std::vector<PointResult>& rows) {
  const auto base = baseline_point(sweep, static_cast<std::size_t>(row.point));
  if (!base) return nullptr;
  const auto found = std::ranges::find(rows, static_cast<std::int64_t>(*base), &PointResult::point);
  return found != rows.end() && found->simulated() ? &*found : nullptr;
}

std::string signed_seconds(double seconds) {
  return (seconds < 0 ? "-" : "+") + human(Seconds{std::abs(seconds)});
}

/// Parts that no point has are left out.
std::vector<std::size_t> parts_that_occur(const std::vector<std::vector<double>>& losses) {
  constexpr double least = 1e-7;  // below what three digits of a millisecond show
  std::vector<std::size_t> parts;
  for (std::size_t p = 0; p < breakdown_names().size(); ++p)
    if (std::ranges::any_of(losses,
                            [&](const auto& l) { return !l.empty() && std::abs(l[p]) > least; }))
      parts.push_back(p);
  return parts;
}

std::string part_phrase(std::size_t part) {
  const std::string& name = breakdown_names()[part];
  if (is_exposed_part(part)) return "exposed " + name + " communication";
  return name == "fleet" ? "waiting for the slowest of the fleet" : part_word(part);
}

/// One sentence on the last point that lost something: how much, and the parts that most of it is.
std::string what_bends(const PointTable& table, const std::vector<std::vector<double>>& losses) {
  for (std::size_t i = losses.size(); i-- > 0;) {
    double lost = 0;
    for (const double part : losses[i]) lost += part;
    const double step = losses[i].empty() ? 0 : *table.rows[i].number("step_time_s");
    constexpr double least = 1e-3, least_named = 0.1;
    if (step == 0 || std::abs(lost) < least * step) continue;
    std::vector<std::size_t> parts(losses[i].size());
    std::iota(parts.begin(), parts.end(), std::size_t{0});
    // Parts with the sign of the loss, the largest first.
    std::erase_if(parts, [&](std::size_t p) { return losses[i][p] / lost < least_named; });
    std::ranges::stable_sort(parts, std::greater{},
                             [&](std::size_t p) { return losses[i][p] / lost; });
    std::string named;
    for (const std::size_t p : parts)
      named += fmt::format("{}{} {:.1f}%", named.empty() ? "" : ", ", part_phrase(p),
                           100 * losses[i][p] / step);
    return fmt::format("\n  {}: {:.1f}% of its step is {} against perfect scaling{}{}.\n",
                       table.rows[i].values, 100 * std::abs(lost) / step, lost > 0 ? "lost" : "won",
                       named.empty() ? "" : ": ", named);
  }
  return "\n  No point loses against perfect scaling.\n";
}

/// A line per published curve, beside the forecast of the same sizes.
std::string published_lines(const PointTable& table) {
  std::string text = table.published.empty() ? "" : "\n";
  for (const auto& [curve, source, same_plan, points] : table.published) {
    text += fmt::format("  published: {} ({}{}), from {} devices on", curve, source,
                        same_plan ? "" : ", another plan", points.front().devices);
    for (std::size_t i = 1; i < points.size(); ++i)
      text += fmt::format("{} {}: {:.1f}% (here {:.1f}%)", i == 1 ? ":" : ",", points[i].devices,
                          100 * points[i].efficiency, 100 * points[i].forecast);
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<std::vector<double>> scaling_losses(const Sweep& sweep,
                                                const std::vector<PointResult>& rows) {
  std::vector<std::vector<double>> all;
  for (const PointResult& row : rows) {
    std::vector<double>& losses = all.emplace_back();
    const PointResult* base = row.simulated() ? baseline_of(sweep, row, rows) : nullptr;
    if (base == nullptr) continue;
    const double ratio = work_per_device(row) / work_per_device(*base);
    const std::vector<double> own = row_parts(row), first = row_parts(*base);
    for (std::size_t p = 0; p < own.size(); ++p) losses.push_back(own[p] - ratio * first[p]);
  }
  return all;
}

std::string scaling_table(const Sweep& sweep, const PointTable& table) {
  std::string text = points_table(table);
  const auto losses = scaling_losses(sweep, table.rows);
  const std::vector<std::size_t> parts = parts_that_occur(losses);
  // Without a baseline or without losses only the points are left to show.
  if (parts.empty()) return text + published_lines(table);
  std::size_t width = 8;
  for (const PointResult& row : table.rows) width = std::max(width, row.values.size() + 1);
  text += fmt::format("\n  what grows, against perfect scaling of the baseline\n  {:<{}}", "point",
                      width);
  for (const std::size_t p : parts) text += fmt::format("{:>14}", part_word(p));
  text += "\n";
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].empty()) continue;
    text += fmt::format("  {:<{}}", table.rows[i].values, width);
    for (const std::size_t p : parts) text += fmt::format("{:>14}", signed_seconds(losses[i][p]));
    text += "\n";
  }
  return text + what_bends(table, losses) + published_lines(table);
}

}  // namespace stepcast
