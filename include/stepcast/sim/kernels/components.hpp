#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"

/// Here forecasts of single kernels and collectives stand against measured ones: docs/components.md
/// says how to read them.
namespace stepcast {

/// What the numbers of a device owe to a table of measurements: some were fitted to it; they were,
/// and there are too few rows to keep any from the fit; nothing was fitted to it.
enum class MeasurementUse { fitted, goodness_of_fit, foreign };
const char* name(MeasurementUse use);

/// Whose clock the times of a table are from: that of the device holds a kernel alone, that of the
/// host its launch as well.
enum class MeasurementClock { device, host };

/// One table of a folder of measurements, as its `sources.yaml` describes it.
struct MeasurementTable {
  std::string file;  ///< in the folder
  std::string source, commit, licence, measured, doubts;
  MeasurementUse use = MeasurementUse::foreign;
  MeasurementClock timed = MeasurementClock::device;
};
/// One device type: a folder below `scenarios/measurements`.
struct MeasurementFolder {
  std::string name;
  std::string cluster;  ///< cluster file that it is forecast on, or `none`
  std::vector<MeasurementTable> tables;
};

/// The keys of `sources.yaml`.
void describe(Visitor& visitor, MeasurementFolder& folder);
/// Reads one, with the check that it describes the tables of its folder, all of them. Throws
/// InputError.
MeasurementFolder read_measurements(const std::string& path, const SearchPath& search);

/// The folders below `folder` that hold a `sources.yaml`, sorted by name. Throws
/// InputError: no such folder, a table that is listed and not there, or there and not listed.
std::vector<MeasurementFolder> measurement_folders(const std::string& folder,
                                                   const SearchPath& search);

/// One row of a measured table beside its forecast. Times in seconds.
struct MeasuredComponent {
  std::string device, table;  ///< folder and file
  const OperatorKind* kind = nullptr;
  OperatorRequest request;
  std::string device_name;  ///< of the cluster file
  std::string size;         ///< class of its size: `m >= 1024`
  std::string model;        ///< whose layer it is of, where the table says so
  std::string exclude;      ///< why it is not judged; empty: it is
  MeasurementUse use = MeasurementUse::foreign;
  MeasurementClock timed = MeasurementClock::device;
  double measured = 0, forecast = 0;  ///< [s]
  double error() const { return forecast / measured - 1; }
};

/// What such a clock would show of an operator [s].
double clocked_time(const OperatorForecaster& cluster, const OperatorRequest& request,
                    MeasurementClock timed);

/// Rows that no cluster file stands for.
struct LeftOutTable {
  std::string device, table;
  std::size_t rows = 0;
};

/// All rows of the tables, and those that no cluster file can forecast.
struct ComponentLedger {
  std::vector<MeasuredComponent> rows;
  std::vector<LeftOutTable> left_out;
  /// The mean over all groups of the mean absolute error of their judged rows [fraction]:
  /// what the check holds.
  double overall() const;
};

/// Forecasts all measurements below a folder. Throws InputError: everything that is wrong with
/// a table.
ComponentLedger measure_components(const std::string& folder, const SearchPath& search);

/// Errors of rows of one device, kind, class of size and use.
struct ComponentGroup {
  std::string device, kind, size;
  MeasurementUse use = MeasurementUse::foreign;
  ErrorFigures judged, all;  ///< without and with the rows that are excluded
};
/// The groups come in the order of devices, then of the table of kinds; behind those of a class of
/// kinds there is one of all of them.
std::vector<ComponentGroup> component_groups(const ComponentLedger& ledger);

/// The ledger as tables for people: by device and kind, then what was excluded.
std::string components_text(const ComponentLedger& ledger);
std::string components_json(const ComponentLedger& ledger);
/// Tables for docs/components.md; the first line is the overall figure that
/// `read_overall` finds again.
std::string components_markdown(const ComponentLedger& ledger);

/// The file of residuals that `stepcast operator` takes its intervals from: all judged rows
/// by device and kind.
std::string residuals_yaml(const ComponentLedger& ledger);

/// The class of the size of an operator, by which errors are told apart.
std::string size_class(const OperatorRequest& request, const OperatorForecaster& cluster);

}  // namespace stepcast
