#include <fmt/format.h>

#include <set>
#include <span>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 4> forecast_columns{"forecast_us", "forecast_low_us",
                                                           "forecast_high_us", "forecast_shape"};

/// Where the known columns stand in a header.
using ColumnPlaces = std::array<std::optional<std::size_t>, operator_columns>;

/// Reads the rows of a table one by one, and collects what is wrong with any.
class OperatorTableReader {
 public:
  OperatorTableReader(const std::string& name, const std::vector<std::string>& header,
                      OperatorClusters& clusters)
      : name_{name}, width_{header.size()}, clusters_{clusters} {
    for (std::size_t i = 0; i < header.size(); ++i) place(std::string(trimmed(header[i])), i);
  }

  std::optional<OperatorTable::Row> row(CsvRecord record) {
    if (record.cells.size() != width_) {
      report(
          record.line, {},
          fmt::format("has {} cells, allowed: the {} of the header", record.cells.size(), width_));
      return {};
    }
    OperatorCells cells;
    for (std::size_t i = 0; i < operator_columns; ++i)
      if (places_[i]) cells[i] = record.cells[*places_[i]];
    std::vector<OperatorProblem> problems;
    const OperatorForecaster* cluster = cluster_of(cells, problems);
    const auto request = read_operator(cells, problems);
    if (request && cluster != nullptr) check_operator(*request, *cluster, problems);
    for (const OperatorProblem& problem : problems) report(record.line, problem);
    if (!problems.empty()) return {};
    return OperatorTable::Row{std::move(record), *request, cluster};
  }

  /// Throws InputError when anything was wrong.
  void finish() {
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
  }

 private:
  void place(const std::string& header, std::size_t at) {
    if (!header.empty() && !seen_.insert(header).second)
      report(1, header, "is the name of two columns, allowed: each name once");
    for (std::size_t i = 0; i < operator_columns; ++i)
      if (info(static_cast<OperatorColumn>(i)).name == header) places_[i] = at;
  }

  const OperatorForecaster* cluster_of(const OperatorCells& cells,
                                       std::vector<OperatorProblem>& problems) {
    if (!clusters_.by_device()) return clusters_.all();
    constexpr auto column = OperatorColumn::device;
    const auto& cell = cells[static_cast<std::size_t>(column)];
    if (!cell) {
      problems.push_back({column, "is missing, give it or --cluster", true});
      return nullptr;
    }
    const std::string device{trimmed(*cell)};
    const OperatorForecaster* cluster = clusters_.find(device);
    if (cluster == nullptr)
      problems.push_back(
          {column, "is '" + device + "', allowed: " + OperatorClusters::known_devices()});
    return cluster;
  }

  void report(int line, std::string column, std::string message) {
    wrong_.push_back({{name_, line}, std::move(column), std::move(message)});
  }

  /// A column that is not there is missed once, by the first row that needs it.
  void report(int line, const OperatorProblem& problem) {
    const std::string column{info(problem.column).name};
    if (!problem.missing) return report(line, column, problem.message);
    if (missed_.insert(column).second) report(1, column, problem.message);
  }

  const std::string& name_;
  std::size_t width_;
  OperatorClusters& clusters_;
  ColumnPlaces places_;
  std::set<std::string> seen_, missed_;
  std::vector<Diagnostic> wrong_;
};

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  return line + "\n";
}

std::string in_microseconds(Seconds time) { return fmt::format("{:.3f}", 1e6 * time.value()); }

/// Of the columns of a forecast; the first alone without residuals.
std::vector<std::string> forecast_cells(const OperatorTable::Row& row,
                                        const OperatorResiduals& residuals) {
  const Seconds time = row.cluster->time(row.request);
  const auto interval =
      operator_interval(residuals, row.cluster->cluster().device.name, row.request, time);
  if (!interval) return {in_microseconds(time)};
  return {in_microseconds(time), in_microseconds(interval->low), in_microseconds(interval->high),
          name(interval->shape)};
}

}  // namespace

OperatorTable::OperatorTable(std::string_view text, const std::string& name,
                             OperatorClusters& clusters) {
  std::vector<CsvRecord> records = parse_csv(text, name);
  if (records.empty()) refuse_input({name}, {}, "is empty, allowed: a table with a header");
  header = records.front().cells;
  if (header.size() == 1 && header.front().find(';') != std::string::npos)
    refuse_input({name, records.front().line}, {}, "has cells apart by ';', allowed: by commas");
  OperatorTableReader reader{name, header, clusters};
  for (std::size_t i = 1; i < records.size(); ++i)
    if (auto row = reader.row(std::move(records[i]))) rows.push_back(std::move(*row));
  reader.finish();
}

std::optional<std::size_t> OperatorTable::column(std::string_view header_name) const {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (trimmed(header[i]) == header_name) return i;
  return {};
}

std::string operator_csv(const OperatorTable& table, const OperatorResiduals& residuals) {
  const std::size_t added = residuals.common ? forecast_columns.size() : 1;
  std::vector<std::string> header = table.header;
  std::vector<std::size_t> places;
  for (const std::string_view name : std::span(forecast_columns).first(added)) {
    // A table that holds a forecast gets new numbers in its columns.
    places.push_back(table.column(name).value_or(header.size()));
    if (places.back() == header.size())
      header.emplace_back(name);
    else
      header[places.back()] = name;
  }
  std::string text = csv_line(header);
  for (const OperatorTable::Row& row : table.rows) {
    std::vector<std::string> cells = row.record.cells;
    cells.resize(header.size());
    const std::vector<std::string> forecast = forecast_cells(row, residuals);
    for (std::size_t i = 0; i < added; ++i) cells[places[i]] = forecast[i];
    text += csv_line(cells);
  }
  return text;
}

}  // namespace stepcast
