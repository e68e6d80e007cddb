#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/sim/kernels/operator_interval.hpp"
#include "stepcast/workloads/operator_forecast.hpp"

/// Here rows of kernels, measured or asked for, become requests: docs/formats/operators.md.
namespace stepcast {

/// The cells of one row by column; nothing where the table has no such column.
using OperatorCells = std::array<std::optional<std::string_view>, operator_columns>;

/// One thing that is wrong with a row; with `missing` the table lacks the column.
struct OperatorProblem {
  OperatorColumn column;
  std::string message;
  bool missing = false;
};

/// The request of a row; what is wrong is added to `problems`, all at once, and then there
/// is no request.
std::optional<OperatorRequest> read_operator(const OperatorCells& cells,
                                             std::vector<OperatorProblem>& problems);
/// Adds what the cluster cannot run of a request: a type that the device lacks, more ranks
/// than a node has.
void check_operator(const OperatorRequest& request, const OperatorForecaster& cluster,
                    std::vector<OperatorProblem>& problems);

/// The clusters that rows run on: one for all, or that of each row's device.
class OperatorClusters {
 public:
  /// With a `path` all rows run on that cluster file. Throws InputError: the file.
  OperatorClusters(const std::string& path, std::vector<std::string> overrides, SearchPath search);

  bool by_device() const { return !all_; }
  /// The cluster of the device: one of the known names, or a file of `clusters/` without
  /// its ending. It is nullptr where there is none. Throws InputError: a file that is wrong.
  const OperatorForecaster* find(const std::string& device);
  const OperatorForecaster* all() const { return all_ ? &*all_ : nullptr; }
  static std::string known_devices();  ///< for messages

 private:
  std::optional<OperatorForecaster> all_;
  std::vector<std::string> overrides_;
  SearchPath search_;
  std::map<std::string, std::optional<OperatorForecaster>> by_device_;
};

/// A table of operators, each row on its cluster, in the order of its text.
struct OperatorTable {
  struct Row {
    CsvRecord record;
    OperatorRequest request;
    const OperatorForecaster* cluster = nullptr;
  };
  std::vector<std::string> header;
  std::vector<Row> rows;
  /// Throws InputError, which calls the text `name`: everything that is wrong with any row. The
  /// clusters outlive the table.
  OperatorTable(std::string_view text, const std::string& name, OperatorClusters& clusters);

  std::optional<std::size_t> column(std::string_view header_name) const;
};

/// The table with columns `forecast_us` and, where there are residuals, `forecast_low_us`,
/// `forecast_high_us` and `forecast_shape` behind the others; those that are there already are
/// replaced.
std::string operator_csv(const OperatorTable& table, const OperatorResiduals& residuals);
/// The full forecasts of all rows.
std::string operator_table_json(const OperatorTable& table, const OperatorResiduals& residuals);
/// One forecast as text and as JSON.
std::string operator_text(const OperatorRequest& request, const OperatorForecaster& cluster,
                          const OperatorResiduals& residuals);
std::string operator_json(const OperatorRequest& request, const OperatorForecaster& cluster,
                          const OperatorResiduals& residuals);

}  // namespace stepcast
