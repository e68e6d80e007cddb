#include <algorithm>
#include <cmath>
#include <nlopt.hpp>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/calibrate/calibrate.hpp"

namespace stepcast {
namespace {

using Point = std::vector<double>;

constexpr double step = 1e-3;          // of a logarithm, for difference quotients
constexpr double first_radius = 0.5;   // of the trust region, per parameter
constexpr double least_radius = 1e-3;  // where the search ends
constexpr double inner_tolerance = 1e-9;
constexpr int inner_evaluations = 500;

/// Huber's loss and its derivative.
double loss(double r, double scale) {
  const double a = std::abs(r);
  return a <= scale ? r * r : 2 * scale * a - scale * scale;
}
double slope(double r, double scale) { return 2 * std::clamp(r, -scale, scale); }

/// Pulls towards the start: one spread away costs as much as a residual of `scale`.
double prior(const FitProblem& p, const Point& x, std::size_t j) {
  return p.scale * (x[j] - p.start[j]) / p.spread[j];
}

/// Huber's loss of all rows, and what it costs to leave the start.
double cost(const FitProblem& p, const Point& x, const Point& residuals) {
  double sum = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    sum += p.weights[i] * loss(residuals[i], p.scale);
  for (std::size_t j = 0; j < x.size(); ++j) sum += prior(p, x, j) * prior(p, x, j);
  return sum;
}

/// The cost with residuals taken as linear around a point.
struct Linear {
  const FitProblem& problem;
  const Point& at;
  const Point& residuals;
  const std::vector<Point>& jacobian;

  double value(const Point& x, Point& gradient) const {
    Point there(residuals);
    for (std::size_t i = 0; i < there.size(); ++i)
      for (std::size_t j = 0; j < x.size(); ++j) there[i] += jacobian[i][j] * (x[j] - at[j]);
    // NLopt passes no gradient where it asks for none.
    if (!gradient.empty()) {
      for (std::size_t j = 0; j < x.size(); ++j) {
        gradient[j] = 2 * prior(problem, x, j) * problem.scale / problem.spread[j];
        for (std::size_t i = 0; i < there.size(); ++i)
          gradient[j] += problem.weights[i] * slope(there[i], problem.scale) * jacobian[i][j];
      }
    }
    return cost(problem, x, there);
  }
};

double linear_cost(const Point& x, Point& gradient, void* data) {
  return static_cast<const Linear*>(data)->value(x, gradient);
}

/// The least linear cost within the bounds and the trust region.
Point inner_minimum(Linear linear, double radius) {
  const FitProblem& p = linear.problem;
  Point low(p.low), high(p.high), x(linear.at);
  for (std::size_t j = 0; j < x.size(); ++j) {
    low[j] = std::max(low[j], x[j] - radius);
    high[j] = std::min(high[j], x[j] + radius);
  }
  nlopt::opt optimizer{nlopt::LD_SLSQP, static_cast<unsigned>(x.size())};
  optimizer.set_lower_bounds(low);
  optimizer.set_upper_bounds(high);
  optimizer.set_min_objective(linear_cost, &linear);
  optimizer.set_ftol_rel(inner_tolerance);
  optimizer.set_maxeval(inner_evaluations);
  double least = 0;
  try {
    optimizer.optimize(x, least);
  } catch (const nlopt::roundoff_limited&) {
    // x is the best point found
  }
  // The optimizer may leave its bounds by rounding.
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::clamp(x[j], low[j], high[j]);
  return x;
}

/// Residuals at x and their derivatives, inwards at a bound.
void linearise(const FitProblem& p, const Residuals& residuals, const Point& x, Point& at,
               std::vector<Point>& jacobian) {
  std::vector<Point> points{x};
  for (std::size_t j = 0; j < x.size(); ++j) {
    points.push_back(x);
    points.back()[j] += x[j] + step > p.high[j] ? -step : step;
  }
  // All points at once, so that what they ask for can run side by side.
  const std::vector<Point> values = residuals(points);
  at = values.front();
  jacobian.assign(at.size(), Point(x.size()));
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j)
      jacobian[i][j] = (values[j + 1][i] - at[i]) / (points[j + 1][j] - x[j]);
}

/// Broyden's update: the Jacobian explains the step to `next` as well.
void carry(FitResult& result, const Point& next, const Point& there) {
  double length = 0;
  for (std::size_t j = 0; j < next.size(); ++j)
    length += (next[j] - result.point[j]) * (next[j] - result.point[j]);
  if (length == 0) return;
  for (std::size_t i = 0; i < there.size(); ++i) {
    double expected = result.residuals[i];
    for (std::size_t j = 0; j < next.size(); ++j)
      expected += result.jacobian[i][j] * (next[j] - result.point[j]);
    for (std::size_t j = 0; j < next.size(); ++j)
      result.jacobian[i][j] += (there[i] - expected) * (next[j] - result.point[j]) / length;
  }
}

}  // namespace

FitResult fit(const FitProblem& problem, const Residuals& residuals) {
  const std::size_t n = problem.start.size();
  expects(problem.low.size() == n && problem.high.size() == n && problem.spread.size() == n,
          "one bound of each kind and one spread per parameter");
  FitResult result;
  result.point = problem.start;
  const auto refresh = [&] {
    linearise(problem, residuals, result.point, result.residuals, result.jacobian);
  };
  refresh();
  expects(result.residuals.size() == problem.weights.size(), "one weight per row");
  result.cost = result.cost_before = cost(problem, result.point, result.residuals);
  // Steps are believed as far as the ones before did what the linear cost had promised.
  double radius = first_radius;
  bool fresh = true;  // the Jacobian is of this point, not carried here
  for (; result.rounds < problem.rounds && radius > least_radius; ++result.rounds) {
    const Linear linear{problem, result.point, result.residuals, result.jacobian};
    const Point next = inner_minimum(linear, radius);
    Point none;
    const double promised = result.cost - linear.value(next, none);
    if (promised > inner_tolerance * result.cost) {
      const Point there = residuals({next}).front();
      const double gain = (result.cost - cost(problem, next, there)) / promised;
      // How much of the promise was kept.
      if (gain > 0.75) radius *= 2;
      if (gain < 0.25) radius /= 3;
      // The Jacobian learns from a step that is not taken, too.
      carry(result, next, there);
      if (gain > 0) {
        fresh = false;
        result.point = next;
        result.residuals = there;
        result.cost = cost(problem, next, there);
        // A poor gain asks for derivatives at the new point.
        if (gain > 0.1) continue;
      }
    }
    if (fresh) {
      // With derivatives of this very point no step promises anything; else a shorter one may help.
      if (promised <= inner_tolerance * result.cost) break;
      continue;
    }
    refresh();
    fresh = true;
  }
  // Derivatives at the result say how well its numbers are known.
  refresh();
  return result;
}

}  // namespace stepcast
