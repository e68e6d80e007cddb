#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "stepcast/base/build.hpp"
#include "stepcast/base/csv.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"

namespace stepcast {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", 100 * *share) : "-";
}

std::string time_of(const PointResult& row) {
  return row.simulated() ? human(Seconds{*row.number("step_time_s")}) : "-";
}

std::string memory_of(const PointResult& row) {
  const auto bytes = row.number("peak_memory_bytes");
  return bytes ? human(Bytes{*bytes}) : "-";
}

std::string rate_of(const PointResult& row) {
  if (const auto rate = row.number("tokens_per_s_per_device")) return fmt::format("{:.4g}", *rate);
  return "-";
}

constexpr std::size_t number_columns = 2 + 11 + 11 + 8 + 8 + 11;
constexpr std::size_t efficiency_columns = 12, band_columns = 9 + 8 + 8, cost_columns = 11;

/// Where some point has prices.
bool has_cost(const PointTable& table) {
  return std::ranges::any_of(
      table.rows, [](const PointResult& row) { return row.number("cost_per_token").has_value(); });
}

/// Of a million tokens.
std::string cost_of(const PointResult& row) {
  constexpr double million = 1e6;
  const auto token = row.number("cost_per_token");
  return token ? fmt::format("{:.4g}", million * *token) : "-";
}

/// The name of a point in a column: by the last words of its keys where the whole is too long, then
/// without its beginning, as the end tells points apart that begin alike.
std::string shortened(const PointResult& row, std::size_t width) {
  if (row.values.size() < width) return row.values;
  std::string text;
  for (const auto& [key, value] : row.varied)
    text += (text.empty() ? "" : " ") + key.substr(key.rfind('.') + 1) + "=" + value;
  if (text.empty()) text = row.values;
  return text.size() < width ? text : ".." + text.substr(text.size() + 3 - width);
}

/// What the numbers do not say; beside them, or below them where a line has only `columns`.
std::string noted(const std::string& line, const std::string& note, std::size_t columns) {
  if (note.empty() || columns == 0 || line.size() + note.size() <= columns) return line + note;
  std::string text = line + "\n";
  const std::size_t each = columns - 4;
  for (std::size_t from = 2; from < note.size(); from += each)
    text += (from > 2 ? "\n    " : "    ") + note.substr(from, each);
  return text;
}

std::string line_of(const PointTable& table, std::size_t i, std::size_t width, bool priced,
                    std::size_t columns) {
  const PointResult& row = table.rows[i];
  std::string text = fmt::format("  {:<{}}{:>11}{:>11}{:>8}{:>8}{:>11}", shortened(row, width),
                                 width, time_of(row), rate_of(row), percent(row.number("mfu")),
                                 percent(row.number("bubble_ratio")), memory_of(row));
  if (priced) text += fmt::format("{:>{}}", cost_of(row), cost_columns);
  if (!table.efficiency.empty()) text += fmt::format("{:>12}", percent(table.efficiency[i]));
  if (const auto band = efficiency_band(table, i))
    text +=
        fmt::format("{:>9}{:>8}{:>8}", percent(band->p10), percent(band->p50), percent(band->p90));
  std::string note;
  if (!row.of_this_build()) note += fmt::format("  of build {} {}", row.version, row.fingerprint);
  if (row.status != PointStatus::ok) note += fmt::format("  {}: {}", name(row.status), row.reason);
  return noted(text, note, columns) + "\n";
}

/// The fingerprint of a row that another build of the program made.
std::string other_build(const PointResult& row) {
  return row.of_this_build() ? "" : row.fingerprint;
}

/// Where some point has seeds.
bool has_band(const PointTable& table) {
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (efficiency_band(table, i)) return true;
  return false;
}

std::string totals(const std::vector<PointResult>& rows) {
  constexpr std::array statuses{PointStatus::ok, PointStatus::out_of_memory, PointStatus::invalid,
                                PointStatus::failed};
  std::string text = fmt::format("  {} points", rows.size());
  for (const PointStatus status : statuses) {
    const auto count = std::ranges::count(rows, status, &PointResult::status);
    if (count > 0)
      text += fmt::format("{} {} {}", status == PointStatus::ok ? ":" : ",", count, name(status));
  }
  return text + "\n";
}

}  // namespace

/// A step of the 90 % quantile is the efficiency of the 10 % quantile.
std::optional<EfficiencyBand> efficiency_band(const PointTable& table, std::size_t row) {
  if (table.efficiency.empty() || !table.efficiency[row]) return {};
  const PointResult& point = table.rows[row];
  const auto mean = point.number("step_time_mean_s");
  if (!mean) return {};
  // Efficiency is inverse to the step: that of the mean, scaled to each quantile of the step.
  const double seconds = *table.efficiency[row] * *mean;
  return EfficiencyBand{seconds / *point.number("step_time_p90_s"),
                        seconds / *point.number("step_time_p50_s"),
                        seconds / *point.number("step_time_p10_s")};
}

std::string points_table(const PointTable& table, std::size_t columns) {
  const bool priced = has_cost(table);
  // The first column takes what the others leave of the terminal, and 8 characters at least.
  std::size_t width = 8;
  for (const PointResult& row : table.rows) width = std::max(width, row.values.size() + 1);
  const std::size_t others = number_columns + (priced ? cost_columns : 0) +
                             (table.efficiency.empty() ? 0 : efficiency_columns) +
                             (has_band(table) ? band_columns : 0);
  if (columns > 0)
    width = std::max<std::size_t>(8, std::min(width, columns > others ? columns - others : 0));
  std::string text = fmt::format("  {:<{}}{:>11}{:>11}{:>8}{:>8}{:>11}", "point", width,
                                 "step time", "tok/s/dev", "MFU", "bubble", "memory");
  if (priced) text += fmt::format("{:>{}}", "cost/Mtok", cost_columns);
  if (!table.efficiency.empty()) text += fmt::format("{:>12}", "efficiency");
  text += has_band(table) ? fmt::format("{:>9}{:>8}{:>8}\n", "p10", "p50", "p90") : "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    text += line_of(table, i, width, priced, columns);
  return text + totals(table.rows);
}

std::string points_csv(const PointTable& table) {
  std::string text = "sweep,point,values,status,reason,schedule";
  // Columns that depend on the question come before those that identify the row, which scripts find
  // by name.
  for (const std::string& column : number_names()) text += "," + column;
  text += table.efficiency.empty() ? "" : ",scaling_efficiency";
  const std::vector<std::string> varied = varied_keys(table.rows);
  text += ",sha256,version,other_build";
  for (const std::string& key : varied) text += "," + csv_cell(key);
  text += "\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointResult& row = table.rows[i];
    text += fmt::format("{},{},{},{},{},{}", csv_cell(row.sweep), row.point, csv_cell(row.values),
                        name(row.status), csv_cell(row.reason), row.schedule);
    for (const auto& number : row.numbers) text += "," + (number ? plain_number(*number) : "");
    if (!table.efficiency.empty())
      text += "," + (table.efficiency[i] ? plain_number(*table.efficiency[i]) : "");
    text += "," + row.key + "," + row.version + "," + other_build(row);
    for (const std::string& key : varied)
      text += "," + csv_cell(varied_value(row, key).value_or(""));
    text += "\n";
  }
  return text;
}

std::string points_json(const std::string& sweep, const PointTable& table) {
  OrderedJson points = OrderedJson::array();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointResult& row = table.rows[i];
    OrderedJson point{{"sweep", row.sweep},   {"point", row.point},
                      {"values", row.values}, {"status", name(row.status)},
                      {"reason", row.reason}, {"schedule", row.schedule}};
    for (std::size_t k = 0; k < row.numbers.size(); ++k)
      point[number_names()[k]] =
          row.numbers[k] ? OrderedJson(*row.numbers[k]) : OrderedJson(nullptr);
    if (!table.efficiency.empty())
      point["scaling_efficiency"] =
          table.efficiency[i] ? OrderedJson(*table.efficiency[i]) : OrderedJson(nullptr);
    if (const auto band = efficiency_band(table, i)) {
      point["scaling_efficiency_p10"] = band->p10;
      point["scaling_efficiency_p50"] = band->p50;
      point["scaling_efficiency_p90"] = band->p90;
    }
    point["sha256"] = row.key;
    point["version"] = row.version;
    // Rows of other builds are marked, since numbers may have moved between the two.
    if (!row.of_this_build()) point["other_build"] = row.fingerprint;
    if (!row.varied.empty()) point["varied"] = OrderedJson::parse(varied_json(row));
    points.push_back(std::move(point));
  }
  OrderedJson json{{"stepcast", program_head<OrderedJson>()}};
  if (!sweep.empty()) json["sweep"] = sweep;
  json["points"] = points;
  for (const PublishedCurve& curve : table.published) {
    OrderedJson sizes = OrderedJson::array();
    for (const PublishedPoint& point : curve.points)
      sizes.push_back({{"devices", point.devices},
                       {"efficiency", point.efficiency},
                       {"forecast", point.forecast}});
    json["published"].push_back({{"curve", curve.name},
                                 {"source", curve.source},
                                 {"same_plan", curve.same_plan},
                                 {"points", sizes}});
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace stepcast
