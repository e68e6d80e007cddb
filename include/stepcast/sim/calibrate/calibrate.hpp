#pragma once
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/topology/cluster_spec.hpp"

/// Here hardware numbers are fitted to measurements (docs/calibration.md).
namespace stepcast {

/// A number of a cluster file that fitting may set. It belongs to a hardware type, never to
/// a row.
struct FittedNumber {
  const char* path;  ///< in the cluster file
  bool time;         ///< in seconds; else without a dimension
  double low, high;  ///< both above 0: fitting works on logarithms
  double doubt;      ///< how far, as a logarithm, one expects it from a good guess
  double (*get)(const ClusterSpec&);
  void (*set)(ClusterSpec&, double);
  std::array<const char*, 2> also{};  ///< further places of the same value
};
/// Kernels and transfers of a profile can tell these numbers, in a fixed order.
std::span<const FittedNumber> numbers_of_kernels();
/// So many fitted steps of one hardware type can tell these: at most 4, and 2 where there are fewer
/// than 12 rows. What kernels or links show by themselves is never among them.
std::span<const FittedNumber> numbers_of_steps(std::size_t rows);

/// Residuals at a point; all points of one call may be evaluated side by side. They take
/// points [n][parameters] and return residuals [n][rows].
using Residuals =
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)>;

/// Parameters within a box, and weights of the rows that they are fitted to.
struct FitProblem {
  std::vector<double> start, low, high;  ///< per parameter; the box
  std::vector<double> weights;           ///< per row
  double scale = 0.05;                   ///< residuals beyond it count linearly (Huber)
  /// Says how far each parameter goes from its start at the price of one residual of `scale`;
  /// it keeps parameters that the rows do not see where they were.
  std::vector<double> spread;
  int rounds = 60;  ///< at most
};

/// Fitted numbers, with how well measurements tell them apart.
struct FitResult {
  std::vector<double> point;
  std::vector<double> residuals;
  std::vector<std::vector<double>> jacobian;  ///< [row][parameter], at `point`
  double cost_before = 0, cost = 0;
  int rounds = 0;
};
/// The fit is bounded robust least squares: Gauss-Newton in a trust region with Broyden's update,
/// its inner problem by NLopt's SLSQP. It is deterministic.
FitResult fit(const FitProblem& problem, const Residuals& residuals);

/// What the rows say about each parameter. `spread` is the standard deviation of its
/// logarithm by the linear model; `rival` is the parameter it is most correlated with.
struct Identified {
  double spread = 0, correlation = 0;
  std::size_t rival = 0;
};
/// Follows from the weighted Jacobian; `noise` is the standard deviation of a residual. Unseen
/// parameters have an infinite spread. It also gives the singular values, largest first.
std::vector<Identified> identify(const std::vector<std::vector<double>>& jacobian,
                                 const std::vector<double>& weights, double noise,
                                 std::vector<double>* singular_values);

/// The eigenvalues of a symmetric matrix, largest first, and its eigenvectors as columns
/// (Jacobi).
struct Eigen {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};
Eigen eigen(std::vector<std::vector<double>> symmetric);

/// One fitted number with what is known of it.
struct FittedValue {
  const FittedNumber* number;
  double before, after;
  Identified identified;
};

/// A fit of the numbers of devices to published steps: before, after, and by row.
struct Calibration {
  std::vector<FittedValue> values;
  std::vector<double> singular_values;
  ErrorFigures calibrated_before, calibrated_after, held_out_before, held_out_after;
  std::size_t rows = 0;
};

/// Fits the numbers of all rows whose device name begins with one of `devices`, on the half
/// that is not held out, starting at `start` or else at the first row's own cluster; the first
/// `numbers` of numbers_of_steps() at most. Throws InputError without such rows.
Calibration calibrate_from_results(const std::vector<PublishedRow>& rows,
                                   const std::vector<std::string>& devices,
                                   const std::optional<ClusterSpec>& start, int workers,
                                   std::size_t numbers = 4);

/// The fit as tables for people.
std::string calibration_text(const Calibration& calibration);
/// A part of a cluster file that a preset extends, each number with `source: fitted`. It
/// extends `base` itself, unless that is empty.
std::string calibration_yaml(const Calibration& calibration, const std::string& question,
                             const std::string& base);

}  // namespace stepcast
