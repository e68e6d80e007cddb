#include "stepcast/sim/calibrate/calibrate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace stepcast {
namespace {

using Point = std::vector<double>;

FitProblem box(Point start, double low, double high, std::size_t rows) {
  FitProblem p;
  p.low.assign(start.size(), low);
  p.high.assign(start.size(), high);
  p.weights.assign(rows, 1);
  p.spread.assign(start.size(), 1e6);
  p.start = std::move(start);
  p.rounds = 60;
  return p;
}

/// y = exp(a) t + exp(b) at six places, as logarithms over the truth.
Residuals line(double a, double b, std::vector<double> outliers = {}) {
  return [=](const std::vector<Point>& points) {
    std::vector<Point> all;
    for (const Point& x : points) {
      Point residuals;
      for (int i = 0; i < 6; ++i) {
        const double t = std::pow(4, i) * 0.01;
        double truth = std::exp(a) * t + std::exp(b);
        if (!outliers.empty()) truth *= outliers[static_cast<std::size_t>(i)];
        residuals.push_back(std::log((std::exp(x[0]) * t + std::exp(x[1])) / truth));
      }
      all.push_back(residuals);
    }
    return all;
  };
}

TEST(Fit, RecoversParametersOfExactData) {
  EXPECT_TRUE(rc::check([] {
    const double a = *rc::gen::inRange(-20, 21) / 10.0, b = *rc::gen::inRange(-20, 21) / 10.0;
    const FitResult r = fit(box({0.3, -0.2}, -4, 4, 6), line(a, b));
    RC_ASSERT(std::abs(r.point[0] - a) < 1e-3);
    RC_ASSERT(std::abs(r.point[1] - b) < 1e-3);
  }));
}

TEST(Fit, StaysInItsBox) {
  const FitResult r = fit(box({0, 0}, -0.5, 0.5, 6), line(1, -1));
  for (const double x : r.point) {
    EXPECT_GE(x, -0.5);
    EXPECT_LE(x, 0.5);
  }
  EXPECT_LT(r.cost, r.cost_before);
}

TEST(Fit, AnOutlierMovesARobustFitLittle) {
  FitProblem robust = box({0, 0}, -4, 4, 6);
  FitProblem plain = robust;
  plain.scale = 100;  // every residual counts squared
  const Point outlier{1, 1, 3, 1, 1, 1};
  const double off = std::abs(fit(robust, line(0.5, -0.5, outlier)).point[1] + 0.5);
  const double plain_off = std::abs(fit(plain, line(0.5, -0.5, outlier)).point[1] + 0.5);
  EXPECT_LT(off, 0.3 * plain_off);
}

TEST(Fit, WhatNoRowSeesStaysWhereItWas) {
  FitProblem p = box({0, 0, 0.7}, -4, 4, 6);
  p.spread.assign(3, 1);
  const Residuals two = line(0.5, -0.5);
  const FitResult r = fit(p, two);
  EXPECT_DOUBLE_EQ(r.point[2], 0.7);
}

TEST(Eigen, OfAKnownMatrix) {
  const Eigen e = eigen({{2, 1, 0}, {1, 2, 0}, {0, 0, 5}});
  EXPECT_NEAR(e.values[0], 5, 1e-12);
  EXPECT_NEAR(e.values[1], 3, 1e-12);
  EXPECT_NEAR(e.values[2], 1, 1e-12);
}

TEST(Eigen, RebuildsRandomMatrices) {
  EXPECT_TRUE(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 7);
    std::vector<Point> a(n, Point(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) a[i][j] = a[j][i] = *rc::gen::inRange(-50, 51) / 10.0;
    const Eigen e = eigen(a);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += e.vectors[i][k] * e.values[k] * e.vectors[j][k];
        RC_ASSERT(std::abs(sum - a[i][j]) < 1e-9);
      }
  }));
}

TEST(Identify, SaysWhichParametersCannotBeToldApart) {
  // rows see x0, and x1 + x2 with hardly a difference; nothing sees x3
  const std::vector<Point> jacobian{{1, 0, 0, 0}, {0, 1, 1, 0}, {0, 1, 1.01, 0}, {1, 1, 1, 0}};
  Point singular;
  const auto known = identify(jacobian, {1, 1, 1, 1}, 0.1, &singular);
  EXPECT_LT(known[0].spread, 0.2);
  EXPECT_GT(known[1].spread, 5);
  EXPECT_LT(known[1].correlation, -0.99);
  EXPECT_EQ(known[1].rival, 2U);
  EXPECT_TRUE(std::isinf(known[3].spread));
  EXPECT_NEAR(singular.back(), 0, 1e-9);
}

void expect_read_back(std::span<const FittedNumber> numbers) {
  ClusterSpec cluster;
  for (const FittedNumber& n : numbers) {
    EXPECT_LT(n.low, n.high) << n.path;
    EXPECT_GT(n.low, 0) << n.path;
    n.set(cluster, n.high);
    EXPECT_DOUBLE_EQ(n.get(cluster), n.high) << n.path;
  }
}

TEST(FittedNumbers, AreReadBack) {
  expect_read_back(numbers_of_kernels());
  expect_read_back(numbers_of_steps(100));  // every number
}

TEST(FittedNumbers, OfStepsAreAtMostFourAndTwoOfFewRows) {
  EXPECT_LE(numbers_of_steps(1000).size(), 4U);
  EXPECT_EQ(numbers_of_steps(12).size(), numbers_of_steps(1000).size());
  EXPECT_EQ(numbers_of_steps(11).size(), 2U);
  EXPECT_STREQ(numbers_of_steps(11)[0].path, numbers_of_steps(12)[0].path);
}

}  // namespace
}  // namespace stepcast
