#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stepcast/scheduler/draw.hpp"
#include "tick_step.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most_columns = 8;  ///< per shortest unit: wider shows nothing more

/// Columns per unit of time: a whole number for the shortest unit when all of it fits.
double scale_of(const OrderTimes& times, std::size_t columns) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& row : times.units)
    for (const UnitTime& unit : row) shortest = std::min(shortest, (unit.end - unit.start).value());
  const double makespan = times.makespan.value();
  if (makespan <= 0) return 1;
  // 1e-9: a quotient that is a whole number but for rounding keeps its column.
  const double fit = std::floor(static_cast<double>(columns) * shortest / makespan + 1e-9);
  if (fit >= 1) return std::min(fit, static_cast<double>(most_columns)) / shortest;
  return static_cast<double>(columns) / makespan;
}

std::size_t column(Seconds time, double scale) {
  return static_cast<std::size_t>(std::lround(time.value() * scale));
}

/// The longest of the names that fits.
std::string name_in(const std::vector<std::string>& names, std::size_t room) {
  // Names come in descending length.
  for (const std::string& name : names)
    if (name.size() <= room) return name;
  return {};
}

// From the fullest name to one letter; a pair shows both halves.
std::vector<std::string> names_of(const StageOrder& order, std::size_t i,
                                  const PipelineShape& shape) {
  const std::string whole = to_string(order[i], shape), brief = to_string(order[i], 1);
  if (!order[i].with_next) return {whole, brief, brief.substr(0, 1)};
  const Unit& other = order[i + 1];
  return {whole + "|" + to_string(other, shape), brief + "|" + to_string(other, 1), "FB", "F"};
}

std::string row_of(const Drawing& drawing, std::size_t stage, double scale, std::size_t columns) {
  const StageOrder& order = drawing.orders[stage];
  // What no unit covers stays a dot: the stage is idle.
  std::string row(columns, '.');
  for (std::size_t i = 0; i < order.size(); ++i) {
    const UnitTime& time = drawing.times.units[stage][i];
    const std::size_t begin = column(time.start, scale),
                      room = std::min(column(time.end, scale), columns) - begin;
    std::string cell = name_in(names_of(order, i, drawing.shape), room);
    cell.resize(room, '-');
    row.replace(begin, room, cell);
    if (order[i].with_next) ++i;
  }
  return row;
}

std::string time_scale(const OrderTimes& times, double scale, std::size_t columns) {
  constexpr double least_columns = 8;
  const double step = tick_step(least_columns / scale);
  // Room beyond the last column, so that a label can begin there and be cut.
  std::string line(columns + 8, ' ');
  for (int tick = 0; tick * step <= times.makespan.value() * (1 + 1e-9); ++tick) {
    const std::string text = fmt::format("{:.6g}", tick * step);
    const std::size_t at = column(Seconds{tick * step}, scale);
    if (at + text.size() <= columns) line.replace(at, text.size(), text);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string draw_text(const Drawing& drawing, std::size_t width) {
  constexpr std::size_t least_width = 40;
  const std::size_t margin = fmt::format("  stage {}  ", drawing.orders.size() - 1).size();
  const std::size_t room = std::max(width, least_width) - margin;
  // One scale for all stages, so that columns are dates; the margin is as wide as the longest head.
  const double scale = scale_of(drawing.times, room);
  const std::size_t columns = std::min(room, column(drawing.times.makespan, scale));
  std::string text;
  for (std::size_t s = 0; s < drawing.orders.size(); ++s) {
    const std::string head = fmt::format("  stage {}", s);
    text += fmt::format("{:<{}}{}\n", head, margin, row_of(drawing, s, scale, columns));
  }
  return text +
         fmt::format("{:<{}}{}\n", "  time", margin, time_scale(drawing.times, scale, columns));
}

}  // namespace stepcast
