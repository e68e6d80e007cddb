#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"

namespace stepcast {
namespace {

/// One column of a table, with what is better in it.
struct Column {
  std::string name;
  bool more_is_better = false;
};

[[noreturn]] void refuse(const char* option, const std::string& message) {
  refuse_input({}, option, message);
}

bool more_is_better(const std::string& name) {
  static const std::vector<std::string> gains{
      "tokens_per_s", "tokens_per_s_per_device", "samples_per_s", "tflops_per_device", "mfu",
      "hfu",          "scaling_efficiency"};
  return std::ranges::find(gains, name) != gains.end();
}

Column column_of(const char* option, const std::string& text, const PointTable& table) {
  Column column{text.substr(0, text.find(':'))};
  // Times and memory are better smaller, rates larger; the order after the colon overrules it.
  column.more_is_better = more_is_better(column.name);
  const std::string order = text.substr(std::min(column.name.size(), text.size()));
  if (order == ":desc" || order == ":asc") {
    column.more_is_better = order == ":desc";
  } else if (!order.empty()) {
    refuse(option, "'" + text + "' ends in no order, allowed: :asc or :desc");
  }
  std::vector<std::string> names = number_names();
  if (!table.efficiency.empty()) names.emplace_back("scaling_efficiency");
  for (const std::string& key : varied_keys(table.rows)) names.push_back(key);
  if (std::ranges::find(names, column.name) == names.end()) {
    const auto near = nearest(column.name, names);
    refuse(option, "'" + column.name + "' is no column" +
                       (near ? "; did you mean " + *near + "?" : ", allowed: " + joined(names)));
  }
  return column;
}

/// The less the better, worst where there is no number.
double cost(const PointTable& table, std::size_t row, const Column& column) {
  const PointResult& point = table.rows[row];
  std::optional<double> value;
  if (column.name == "scaling_efficiency") {
    value = table.efficiency[row];
  } else if (const auto text = varied_value(point, column.name)) {
    value = parse_number(*text);
  } else if (std::ranges::find(number_names(), column.name) != number_names().end()) {
    value = point.number(column.name);
  }
  // Rows without the number (no step, no tokens) come last in either order.
  if (!value || std::isnan(*value)) return std::numeric_limits<double>::infinity();
  return column.more_is_better ? -*value : *value;
}

PointTable taken(const PointTable& table, const std::vector<std::size_t>& rows) {
  PointTable result;
  for (const std::size_t row : rows) {
    result.rows.push_back(table.rows[row]);
    if (!table.efficiency.empty()) result.efficiency.push_back(table.efficiency[row]);
  }
  return result;
}

bool fits(const PointResult& row) { return row.status == PointStatus::ok; }

/// Whether row a is nowhere worse than row b and somewhere better.
bool beats(const std::vector<double>& a, const std::vector<double>& b) {
  bool better = false;
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c] > b[c]) return false;
    better = better || a[c] < b[c];
  }
  return better;
}

PointTable frontier_of(const PointTable& table, const std::string& text) {
  std::vector<Column> columns;
  // Up to the size itself: an empty last column (`a,`) must be refused as no column.
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    columns.push_back(column_of("--pareto", text.substr(from, comma - from), table));
    from = comma + 1;
  }
  if (columns.size() < 2) refuse("--pareto", "has one column, allowed: two or more, a,b");
  std::vector<std::vector<double>> costs(table.rows.size());
  for (std::size_t i = 0; i < costs.size(); ++i)
    for (const Column& column : columns) costs[i].push_back(cost(table, i, column));
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const bool known = std::ranges::all_of(costs[i], [](double c) { return std::isfinite(c); });
    // What does not fit is no choice, and must not push out a row that does.
    if (!known || !fits(table.rows[i])) continue;
    bool beaten = false;
    for (std::size_t k = 0; k < costs.size() && !beaten; ++k)
      beaten = fits(table.rows[k]) && beats(costs[k], costs[i]);
    if (!beaten) kept.push_back(i);
  }
  return taken(table, kept);
}

}  // namespace

PointTable arranged(PointTable table, const RowChoice& choice) {
  if (!choice.pareto.empty()) table = frontier_of(table, choice.pareto);
  if (choice.sort.empty() && !choice.best) return table;
  const Column column =
      column_of("--sort", choice.sort.empty() ? "step_time_s" : choice.sort, table);
  std::vector<std::size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (choice.best) std::erase_if(order, [&](std::size_t i) { return !fits(table.rows[i]); });
  std::vector<double> costs;
  for (std::size_t i = 0; i < table.rows.size(); ++i) costs.push_back(cost(table, i, column));
  // Stable: rows of equal cost stay in the order of the file, or two runs would differ.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return costs[i]; });
  if (choice.best && order.size() > *choice.best) order.resize(*choice.best);
  return taken(table, order);
}

}  // namespace stepcast
