#include <filesystem>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast {
namespace {

/// Columns of the measured time [us], in the order in which they are looked for.
constexpr std::array<std::string_view, 2> time_columns{"median_us", "measured_us"};
constexpr double one_microsecond = 1e-6;

std::size_t time_column(const OperatorTable& table, const std::string& path) {
  for (const std::string_view name : time_columns)
    if (const auto found = table.column(name)) return *found;
  refuse_input({path, 1}, "median_us", "is missing, every measurement needs it");
}

/// Reads one table and forecasts its rows.
void measure_table(const std::string& path, const MeasurementFolder& folder,
                   const MeasurementTable& source, OperatorClusters& clusters,
                   std::vector<MeasuredComponent>& rows) {
  const OperatorTable table(read_document_text(path, {}, "a CSV file"), path, clusters);
  const std::size_t time = time_column(table, path);
  const auto exclude = table.column("exclude"), model = table.column("model");
  std::vector<Diagnostic> wrong;
  for (const OperatorTable::Row& row : table.rows) {
    const std::string& cell = row.record.cells[time];
    const auto measured = parse_number(trimmed(cell));
    if (!measured || *measured <= 0) {
      wrong.push_back({{path, row.record.line},
                       table.header[time],
                       "is '" + cell + "', allowed: a time above 0"});
      continue;
    }
    rows.push_back({.device = folder.name,
                    .table = source.file,
                    .kind = row.request.kind,
                    .request = row.request,
                    .device_name = row.cluster->cluster().device.name,
                    .size = size_class(row.request, *row.cluster),
                    .model = model ? std::string(trimmed(row.record.cells[*model])) : "",
                    .exclude = exclude ? std::string(trimmed(row.record.cells[*exclude])) : "",
                    .use = source.use,
                    .timed = source.timed,
                    .measured = one_microsecond * *measured,
                    .forecast = clocked_time(*row.cluster, row.request, source.timed)});
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

}  // namespace

double clocked_time(const OperatorForecaster& cluster, const OperatorRequest& request,
                    MeasurementClock timed) {
  const OperatorForecast forecast = cluster.forecast(request);
  // A host's clock sees the launch, too.
  const bool launch = timed == MeasurementClock::host;
  return (launch ? forecast.time + forecast.launch : forecast.time).value();
}

ComponentLedger measure_components(const std::string& folder, const SearchPath& search) {
  ComponentLedger ledger;
  for (const MeasurementFolder& found : measurement_folders(folder, search)) {
    const std::filesystem::path path = std::filesystem::path(folder) / found.name;
    std::optional<OperatorClusters> clusters;
    // Tables of devices without a cluster file are counted, not forecast.
    if (found.cluster != "none")
      clusters.emplace(found.cluster, std::vector<std::string>{}, search);
    for (const MeasurementTable& table : found.tables) {
      const std::string file = (path / table.file).string();
      if (clusters)
        measure_table(file, found, table, *clusters, ledger.rows);
      else
        ledger.left_out.push_back(
            {found.name, table.file,
             parse_csv(read_document_text(file, {}, "a CSV file"), file).size() - 1});
    }
  }
  return ledger;
}

}  // namespace stepcast
