#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "html.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/page/pages.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<PageTable::Cell>;

class Columns {
 public:
  explicit Columns(const PageTable& table) : table_{table} {}
  bool has(const std::string& name) const { return place(name) < table_.columns.size(); }
  std::optional<double> number(const Row& row, const std::string& name) const {
    if (!has(name)) return {};
    const auto* value = std::get_if<double>(&row[place(name)]);
    return value ? std::optional(*value) : std::nullopt;
  }
  std::string text(const Row& row, const std::string& name) const {
    if (!has(name)) return "";
    const auto* value = std::get_if<std::string>(&row[place(name)]);
    return value ? *value : "";
  }

 private:
  std::size_t place(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(table_.columns, name) -
                                    table_.columns.begin());
  }
  const PageTable& table_;
};

/// The best rate of each number of devices.
Json scaling(const PageTable& table, const Columns& columns, const std::string& throughput) {
  std::map<double, double> best;
  for (const Row& row : table.rows) {
    const auto devices = columns.number(row, "devices"), rate = columns.number(row, throughput);
    if (devices && rate) best[*devices] = std::max(best[*devices], *rate);
  }
  Json list = Json::array();
  for (const auto& [devices, rate] : best)
    list.push_back({{"devices", devices}, {"throughput", rate}});
  return list;
}

/// Points whose time and memory are known.
Json pareto(const PageTable& table, const Columns& columns) {
  Json list = Json::array();
  for (const Row& row : table.rows) {
    const auto time = columns.number(row, "step_time_s"),
               memory = columns.number(row, "peak_memory_bytes"),
               capacity = columns.number(row, "memory_capacity_bytes");
    if (!time || !memory) continue;
    list.push_back({{"name", columns.text(row, table.label)},
                    {"time", *time},
                    {"memory", *memory},
                    {"capacity", capacity.value_or(0)}});
  }
  return list;
}

Json cell(const PageTable::Cell& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

}  // namespace

std::string sweep_page(const PageTable& table) {
  const Columns columns(table);
  // Given times have samples and no tokens.
  const std::string throughput = columns.has("tokens_per_s") ? "tokens_per_s" : "samples_per_s";
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    expects(row.size() == table.columns.size(), "a row has a cell per column");
    Json line = Json::array();
    for (const PageTable::Cell& value : row) line.push_back(cell(value));
    rows.push_back(line);
  }
  Json published = Json::array();
  for (const auto& [name, points] : table.published)
    for (const auto& [devices, efficiency] : points)
      published.push_back({{"curve", name}, {"devices", devices}, {"efficiency", efficiency}});
  const Json data{{"kind", "sweep"},
                  {"throughput", throughput},
                  {"scaling", scaling(table, columns, throughput)},
                  {"published", published},
                  {"pareto", pareto(table, columns)},
                  {"columns", table.columns},
                  {"rows", rows}};
  return html_page(
      table.name, table.question,
      std::to_string(table.rows.size()) + (table.rows.size() == 1 ? " point" : " points"),
      data.dump());
}

}  // namespace stepcast
