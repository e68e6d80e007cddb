#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/calibrate/calibrate.hpp"
#include "stepcast/sim/calibrate/left_out.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

using PartRows = std::vector<const MeasuredComponent*>;

constexpr std::size_t least_table_rows = 8;  // of a table; fewer keep none aside
constexpr double next_to_no_pull = 10;       // going e^10 away costs as much as one residual
constexpr int left_out_rounds = 30;

/// What one fit has numbers for.
std::string part_of(const MeasuredComponent& row) {
  std::string part = name(row.request.kind->of);
  const KernelShape& shape = row.request.shape;
  if (row.request.kind->of == OperatorClass::attention && shape.generation != nullptr)
    return part + " " + std::string(shape.generation->name);
  return shape.type == ElementType::fp8 ? part + " fp8" : part;
}

bool is_fitted(const MeasuredComponent& row) { return row.exclude.empty(); }

/// Rows with one key are left out together, one key at a time.
struct LeaveOut {
  std::string what;
  std::map<const MeasuredComponent*, std::string> keys;
};

LeaveOut by_key(const PartRows& rows, std::string what,
                const std::function<std::string(const MeasuredComponent&)>& key) {
  LeaveOut result{std::move(what)};
  for (const MeasuredComponent* row : rows) result.keys.emplace(row, key(*row));
  return result;
}

/// Every second size of each number of ranks, those between two that stay; the others stay for
/// good.
LeaveOut every_second_size(const PartRows& rows) {
  std::map<std::pair<std::string_view, std::int64_t>, std::set<double>> sizes;
  const auto group = [](const MeasuredComponent& row) {
    return std::pair{row.request.kind->name, row.request.ranks};
  };
  for (const MeasuredComponent* row : rows)
    if (is_fitted(*row)) sizes[group(*row)].insert(row->request.shape.m);
  LeaveOut result{"every second size"};
  for (const MeasuredComponent* row : rows) {
    const auto& all = sizes[group(*row)];
    const auto at = std::distance(all.begin(), all.find(row->request.shape.m));
    if (is_fitted(*row) && at % 2 == 1) result.keys.emplace(row, "second");
  }
  return result;
}

std::vector<LeaveOut> ways_to_leave_out(const PartRows& rows) {
  const OperatorClass of = rows.front()->request.kind->of;
  // Each class is cut along what a user would change next: lengths of sequences, sizes and ranks,
  // models, weights.
  if (of == OperatorClass::attention)
    return {by_key(rows, "a length", [](const MeasuredComponent& row) {
      return shortest(row.request.shape.sequence);
    })};
  if (of == OperatorClass::collective)
    return {every_second_size(rows),
            by_key(rows, "a number of ranks",
                   [](const MeasuredComponent& row) { return std::to_string(row.request.ranks); })};
  if (!rows.front()->model.empty())
    return {by_key(rows, "a model", [](const MeasuredComponent& row) { return row.model; })};
  return {by_key(rows, "a weight", [](const MeasuredComponent& row) {
    return shortest(row.request.shape.k) + " x " + shortest(row.request.shape.n);
  })};
}

/// Forecast over measured, less 1, with the numbers of a cluster.
std::vector<double> errors_on(const ClusterSpec& cluster, const PartRows& rows) {
  const OperatorForecaster forecaster{cluster};
  std::vector<double> errors;
  for (const MeasuredComponent* row : rows)
    errors.push_back(clocked_time(forecaster, row->request, row->timed) / row->measured - 1);
  return errors;
}

ClusterSpec with_component_numbers(ClusterSpec cluster, const std::vector<ComponentNumber>& numbers,
                                   const std::vector<double>& logs) {
  for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j].set(cluster, std::exp(logs[j]));
  return cluster;
}

/// The cluster with its numbers fitted to these rows.
ClusterSpec fitted_to(const ClusterSpec& cluster, const PartRows& rows) {
  const std::vector<ComponentNumber> numbers = component_numbers(rows.front()->request, cluster);
  FitProblem problem;
  for (const ComponentNumber& number : numbers) {
    problem.low.push_back(std::log(number.low));
    problem.high.push_back(std::log(number.high));
    problem.start.push_back(std::log(std::clamp(number.get(cluster), number.low, number.high)));
  }
  problem.weights.assign(rows.size(), 1);
  problem.spread.assign(numbers.size(), next_to_no_pull);
  problem.rounds = left_out_rounds;
  const FitResult result = fit(problem, [&](const std::vector<std::vector<double>>& points) {
    std::vector<std::vector<double>> all;
    for (const auto& point : points) {
      all.push_back(errors_on(with_component_numbers(cluster, numbers, point), rows));
      for (double& error : all.back()) error = std::log1p(error);
    }
    return all;
  });
  return with_component_numbers(cluster, numbers, result.point);
}

PartRows fitted_rows(const PartRows& rows) {
  PartRows some;
  std::ranges::copy_if(rows, std::back_inserter(some),
                       [](const MeasuredComponent* row) { return is_fitted(*row); });
  return some;
}

/// Errors of rows, each in a fit that may not know it.
using RowErrors = std::map<const MeasuredComponent*, double>;

void add_errors(RowErrors& errors, const ClusterSpec& cluster, const PartRows& rows) {
  const std::vector<double> values = errors_on(cluster, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) errors[rows[i]] = values[i];
}

/// Each key left out in turn; nothing where all rows have one.
RowErrors unseen_errors(const ClusterSpec& cluster, const PartRows& rows, const LeaveOut& way) {
  std::set<std::string> keys;
  for (const auto& [row, key] : way.keys) keys.insert(key);
  RowErrors errors;
  for (const std::string& key : keys) {
    PartRows kept, out;
    for (const MeasuredComponent* row : rows) {
      const auto found = way.keys.find(row);
      (found != way.keys.end() && found->second == key ? out : kept).push_back(row);
    }
    // Excluded rows are forecast, but fit nothing.
    kept = fitted_rows(kept);
    if (kept.empty()) return {};
    add_errors(errors, fitted_to(cluster, kept), out);
  }
  return errors;
}

ErrorFigures figures_of(const RowErrors& errors, const PartRows& rows) {
  std::vector<double> some;
  for (const MeasuredComponent* row : rows)
    if (const auto found = errors.find(row); found != errors.end()) some.push_back(found->second);
  return figures(std::move(some));
}

/// One line for each kind and class of size; those that hold excluded rows alone have none.
void report_rows(const PartRows& rows, const std::string& left_out, const RowErrors& preset,
                 const RowErrors& fitted, const RowErrors& unseen,
                 std::vector<LeftOutFigures>& result) {
  std::map<std::pair<const OperatorKind*, std::string>, PartRows> groups;
  for (const MeasuredComponent* row : rows) groups[{row->kind, row->size}].push_back(row);
  for (const auto& [key, group] : groups) {
    const PartRows judged = fitted_rows(group);
    if (judged.empty()) continue;
    result.push_back({group.front()->device, std::string(key.first->name), key.second, left_out,
                      figures_of(preset, judged), figures_of(fitted, judged),
                      figures_of(unseen, judged), figures_of(unseen, group)});
  }
}

/// The rows of one part of one table.
void leave_out_of(const PartRows& rows, const ClusterSpec& cluster, std::size_t rows_of_table,
                  std::vector<LeftOutFigures>& result) {
  const PartRows judged = fitted_rows(rows);
  RowErrors preset, fitted;
  add_errors(preset, cluster, rows);
  const MeasurementUse use = rows.front()->use;
  // A short table has no rows to spare.
  if (use == MeasurementUse::foreign || rows_of_table < least_table_rows || judged.empty()) {
    const MeasurementUse shown =
        use == MeasurementUse::foreign ? use : MeasurementUse::goodness_of_fit;
    report_rows(rows, name(shown), preset, {}, {}, result);
    return;
  }
  add_errors(fitted, fitted_to(cluster, judged), judged);
  for (const LeaveOut& way : ways_to_leave_out(rows)) {
    const RowErrors unseen = unseen_errors(cluster, rows, way);
    report_rows(rows, unseen.empty() ? name(MeasurementUse::goodness_of_fit) : way.what, preset,
                fitted, unseen, result);
  }
}

}  // namespace

std::vector<LeftOutFigures> leave_out(const std::string& folder, const SearchPath& search) {
  const ComponentLedger ledger = measure_components(folder, search);
  std::vector<LeftOutFigures> result;
  for (const MeasurementFolder& device : measurement_folders(folder, search)) {
    // A device without a preset has nothing to fit.
    if (device.cluster == "none") continue;
    const ClusterSpec cluster = read_cluster(device.cluster, {}, search);
    for (const MeasurementTable& table : device.tables) {
      std::map<std::string, PartRows> parts;
      for (const MeasuredComponent& row : ledger.rows)
        if (row.device == device.name && row.table == table.file)
          parts[part_of(row)].push_back(&row);
      // Numbers are fitted to a whole table, so that its size says how much a part of it weighs.
      std::size_t rows_of_table = 0;
      for (const auto& [part, rows] : parts) rows_of_table += fitted_rows(rows).size();
      for (const auto& [part, rows] : parts) leave_out_of(rows, cluster, rows_of_table, result);
    }
  }
  return result;
}

double overall(const std::vector<LeftOutFigures>& all) {
  double sum = 0, count = 0;
  for (const LeftOutFigures& row : all) {
    if (!row.refitted()) continue;
    sum += row.unseen.mean;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace stepcast
