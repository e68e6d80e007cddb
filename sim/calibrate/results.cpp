#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/calibrate/calibrate.hpp"

namespace stepcast {
namespace {

using Point = std::vector<double>;
using Numbers = std::span<const FittedNumber>;

constexpr double failed_residual = 10;  // of a forecast that throws: far beyond any error

struct Rows {
  std::vector<const PublishedRow*> fitted, held;
};

Rows chosen_rows(const std::vector<PublishedRow>& rows, const std::vector<std::string>& devices) {
  Rows chosen;
  for (const PublishedRow& row : rows) {
    const std::string& device = row.scenario.cluster.device.name;
    const bool wanted =
        std::ranges::any_of(devices, [&](const std::string& d) { return device.starts_with(d); });
    // Synthetic rows have times of their own, which no number of a cluster changes.
    if (!wanted || row.scenario.synthetic) continue;
    if (row.label == RowLabel::fitted) chosen.fitted.push_back(&row);
    if (row.label == RowLabel::held_out) chosen.held.push_back(&row);
  }
  if (chosen.fitted.empty())
    refuse_input({}, "--device",
                 "no row runs on '" + joined(devices) +
                     "', allowed: the beginning of device names that rows have");
  return chosen;
}

Scenario with_numbers(const Scenario& scenario, Numbers numbers, const Point& logs) {
  Scenario s = scenario;
  for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j].set(s.cluster, std::exp(logs[j]));
  return s;
}

/// log(forecast / published) of rows at several points.
std::vector<Point> log_errors(const std::vector<const PublishedRow*>& rows, Numbers numbers,
                              const std::vector<Point>& points, int workers) {
  std::vector<Scenario> scenarios;
  for (const Point& point : points)
    for (const PublishedRow* row : rows)
      scenarios.push_back(with_numbers(row->scenario, numbers, point));
  std::vector<const Scenario*> given;
  given.reserve(scenarios.size());
  for (const Scenario& s : scenarios) given.push_back(&s);
  // All rows at all points at once keep all workers busy.
  const std::vector<RowForecast> forecasts = forecast_all(given, workers);
  std::vector<Point> result(points.size(), Point(rows.size(), failed_residual));
  for (std::size_t k = 0; k < forecasts.size(); ++k) {
    if (!forecasts[k].failure.empty()) continue;
    const PublishedRow& row = *rows[k % rows.size()];
    result[k / rows.size()][k % rows.size()] =
        std::log(forecasts[k].step_time / row.scenario.expect->step_time->value);
  }
  return result;
}

/// A family counts as the square root of its rows, so that a large table is not all that is heard;
/// the mean weight is 1.
std::vector<double> family_weights(const std::vector<const PublishedRow*>& rows) {
  std::map<std::string, double> sizes;
  for (const PublishedRow* row : rows) ++sizes[row->family];
  std::vector<double> weights;
  weights.reserve(rows.size());
  double sum = 0;
  for (const PublishedRow* row : rows) sum += 1 / std::sqrt(sizes[row->family]);
  const double mean = sum / static_cast<double>(rows.size());
  for (const PublishedRow* row : rows) weights.push_back(1 / std::sqrt(sizes[row->family]) / mean);
  return weights;
}

FitProblem problem(const std::vector<const PublishedRow*>& rows, Numbers numbers,
                   const ClusterSpec& cluster) {
  FitProblem p;
  for (const FittedNumber& n : numbers) {
    p.low.push_back(std::log(n.low));
    p.high.push_back(std::log(n.high));
    // A cluster file may have a number outside of the bounds.
    p.start.push_back(std::log(std::clamp(n.get(cluster), n.low, n.high)));
    p.spread.push_back(n.doubt);
  }
  p.weights = family_weights(rows);
  return p;
}

ErrorFigures figures_of(const Point& log_errors) {
  std::vector<double> errors;
  // A forecast that failed has no error.
  for (const double e : log_errors)
    if (e < failed_residual) errors.push_back(std::exp(e) - 1);
  return figures(std::move(errors));
}

double noise_of(const Point& residuals) {
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r));
  return quantile(sizes, 0.68);  // one standard deviation of a normal error
}

/// Numbers that so few rows cannot tell are written as they were: what extends the file has no
/// other.
void add_unfitted(std::vector<FittedValue>& values, const ClusterSpec& start) {
  const Numbers all = numbers_of_steps(std::numeric_limits<std::size_t>::max());
  for (const FittedNumber& number : all.subspan(values.size())) {
    Identified unseen;
    unseen.spread = std::numeric_limits<double>::infinity();
    values.push_back({&number, number.get(start), number.get(start), unseen});
  }
}

}  // namespace

Calibration calibrate_from_results(const std::vector<PublishedRow>& rows,
                                   const std::vector<std::string>& devices,
                                   const std::optional<ClusterSpec>& start, int workers,
                                   std::size_t most) {
  const Rows chosen = chosen_rows(rows, devices);
  const Numbers told = numbers_of_steps(chosen.fitted.size());
  const Numbers numbers = told.first(std::min(most, told.size()));
  const FitProblem p =
      problem(chosen.fitted, numbers, start ? *start : chosen.fitted.front()->scenario.cluster);
  const FitResult fitted = fit(p, [&](const std::vector<Point>& points) {
    return log_errors(chosen.fitted, numbers, points, workers);
  });
  const auto both = [&](const std::vector<const PublishedRow*>& of) {
    return log_errors(of, numbers, {p.start, fitted.point}, workers);
  };
  // Before and behind the fit, of rows that it saw and of rows that it did not.
  const std::vector<Point> calibrated = both(chosen.fitted);
  Calibration c;
  c.rows = chosen.fitted.size() + chosen.held.size();
  c.calibrated_before = figures_of(calibrated[0]);
  c.calibrated_after = figures_of(calibrated[1]);
  if (!chosen.held.empty()) {
    const std::vector<Point> held = both(chosen.held);
    c.held_out_before = figures_of(held[0]);
    c.held_out_after = figures_of(held[1]);
  }
  const auto identified =
      identify(fitted.jacobian, p.weights, noise_of(fitted.residuals), &c.singular_values);
  for (std::size_t j = 0; j < numbers.size(); ++j)
    c.values.push_back(
        {&numbers[j], std::exp(p.start[j]), std::exp(fitted.point[j]), identified[j]});
  const ClusterSpec& given = start ? *start : chosen.fitted.front()->scenario.cluster;
  add_unfitted(c.values, given);
  return c;
}

}  // namespace stepcast
