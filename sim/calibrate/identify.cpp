#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/calibrate/calibrate.hpp"

namespace stepcast {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr int most_sweeps = 60;
constexpr double negligible = 1e-12;  // of the largest eigenvalue: a direction the rows do not see

/// Squares beside the diagonal, which Jacobi's rotations make vanish.
double off_diagonal(const Matrix& a) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) sum += a[i][j] * a[i][j];
  return sum;
}

/// Turns the plane (p, q) so that a[p][q] vanishes.
void rotate(Matrix& a, Matrix& vectors, std::size_t p, std::size_t q) {
  if (a[p][q] == 0) return;
  const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::hypot(theta, 1));
  const double c = 1 / std::hypot(t, 1), s = t * c;
  for (auto& row : a) {
    const double left = row[p], right = row[q];
    row[p] = c * left - s * right;
    row[q] = s * left + c * right;
  }
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double upper = a[p][k], lower = a[q][k];
    a[p][k] = c * upper - s * lower;
    a[q][k] = s * upper + c * lower;
    const double left = vectors[k][p], right = vectors[k][q];
    vectors[k][p] = c * left - s * right;
    vectors[k][q] = s * left + c * right;
  }
}

}  // namespace

Eigen eigen(Matrix a) {
  const std::size_t n = a.size();
  Matrix vectors(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) vectors[i][i] = 1;
  double scale = 0;
  for (const auto& row : a)
    for (const double v : row) scale += v * v;
  // Sweeps over all pairs, until the diagonal alone is left.
  for (int sweep = 0; sweep < most_sweeps && off_diagonal(a) > 1e-28 * scale; ++sweep)
    for (std::size_t p = 0; p + 1 < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) rotate(a, vectors, p, q);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) { return a[x][x] > a[y][y]; });
  Eigen result{{}, Matrix(n, std::vector<double>(n))};
  for (std::size_t k = 0; k < n; ++k) {
    result.values.push_back(a[order[k]][order[k]]);
    for (std::size_t i = 0; i < n; ++i) result.vectors[i][k] = vectors[i][order[k]];
  }
  return result;
}

std::vector<Identified> identify(const Matrix& jacobian, const std::vector<double>& weights,
                                 double noise, std::vector<double>* singular_values) {
  expects(!jacobian.empty() && jacobian.size() == weights.size(), "one weight per row");
  const std::size_t n = jacobian.front().size();
  // The normal matrix, J^T W J.
  Matrix normal(n, std::vector<double>(n));
  for (std::size_t i = 0; i < jacobian.size(); ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k)
        normal[j][k] += weights[i] * jacobian[i][j] * jacobian[i][k];
  const Eigen e = eigen(normal);
  if (singular_values != nullptr) {
    singular_values->clear();
    for (const double v : e.values) singular_values->push_back(std::sqrt(std::max(0.0, v)));
  }
  // Directions that no row sees get a variance that is large but finite.
  const double floor = negligible * std::max(e.values.front(), std::numeric_limits<double>::min());
  Matrix covariance(n, std::vector<double>(n));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        covariance[i][j] += e.vectors[i][k] * e.vectors[j][k] / std::max(e.values[k], floor);
  std::vector<Identified> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    Identified& own = result[i];
    own.spread = normal[i][i] > floor ? noise * std::sqrt(covariance[i][i])
                                      : std::numeric_limits<double>::infinity();
    // The strongest correlation says which other number could explain the same.
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j || normal[i][i] <= floor || normal[j][j] <= floor) continue;
      const double c = covariance[i][j] / std::sqrt(covariance[i][i] * covariance[j][j]);
      if (std::abs(c) <= std::abs(own.correlation)) continue;
      own.correlation = c;
      own.rival = j;
    }
  }
  return result;
}

}  // namespace stepcast
