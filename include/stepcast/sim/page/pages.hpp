#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stepcast {

/// The table has points with named columns. A cell is nothing, a number or a text.
struct PageTable {
  using Cell = std::variant<std::monostate, double, std::string>;
  std::string name;      ///< of the sweep
  std::string question;  ///< may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
  std::string label = "values";         ///< column that names a point
  /// Efficiency over devices of curves that others published.
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::vector<Curve> published = {};
};

/// The points as one HTML page that needs no network: throughput over devices with the
/// ideal line (the best point of each number of devices, from columns `devices` and `tokens_per_s`
/// or `samples_per_s`), step time against memory (`step_time_s`, `peak_memory_bytes`,
/// `memory_capacity_bytes`), and a table that sorts and filters. A chart without its columns, or
/// with less than two points, is left out. Throws ContractError when a row is not as long as
/// `columns`.
std::string sweep_page(const PageTable& table);

}  // namespace stepcast
