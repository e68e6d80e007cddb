#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stepcast/sim/replay/stall_plan.hpp"

namespace stepcast {
namespace {

double unit(std::uint64_t first, std::uint64_t second) {
  return static_cast<double>((first << 32 | second) >> 11) * 0x1p-53;
}

// Philox4x32-10 of the known answers that Random123 1.14 ships (kat_vectors).
TEST(StallNumbers, AreTheKnownAnswersOfPhilox) {
  EXPECT_EQ(uniform_number(0, 0, 0, 0), unit(0x6627e8d5, 0xe169c58d));
  constexpr std::uint32_t ones = 0xffffffff;
  constexpr std::uint64_t all = 0xffffffffffffffff;
  EXPECT_EQ(uniform_number(all, ones, ones, all), unit(0x408f276d, 0x41c83b0e));
  EXPECT_EQ(uniform_number(0x299f31d0a4093822, 0x13198a2e, 0x03707344, 0x85a308d3243f6a88),
            unit(0xd16cfe09, 0x94fdcceb));
}

TEST(StallNumbers, NormalIsBoxMullerOfTheKnownAnswers) {
  const double u = unit(0x6627e8d5, 0xe169c58d) + 0x1p-53, v = unit(0xbc57ac4c, 0x9b00dbd8);
  EXPECT_NEAR(normal_number(0, 0, 0, 0), std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v),
              1e-15);
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class Draw>
Moments moments(int n, Draw draw) {
  double sum[5] = {};
  for (int i = 0; i < n; ++i) {
    double power = 1;
    const double x = draw(i);
    for (double& s : sum) s += power, power *= x;
  }
  for (double& s : sum) s /= n;
  const double m = sum[1], v = sum[2] - m * m;
  return {m, v, (sum[3] - 3 * m * sum[2] + 2 * m * m * m) / std::pow(v, 1.5),
          (sum[4] - 4 * m * sum[3] + 6 * m * m * sum[2] - 3 * m * m * m * m) / (v * v)};
}

// Five standard errors of each moment: sqrt(1/n), sqrt(2/n), sqrt(6/n), sqrt(24/n).
void expect_normal(const Moments& m, int n) {
  const double root = 5 / std::sqrt(n);
  EXPECT_NEAR(m.mean, 0, root);
  EXPECT_NEAR(m.variance, 1, root * std::sqrt(2));
  EXPECT_NEAR(m.skewness, 0, root * std::sqrt(6));
  EXPECT_NEAR(m.kurtosis, 3, root * std::sqrt(24));
}

TEST(StallNumbers, NormalHasTheMomentsOfANormalAlongEachWord) {
  constexpr int n = 200000;
  expect_normal(moments(n, [](int i) { return normal_number(i, 0, 0, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, i, 0, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, 3, i, 0); }), n);
  expect_normal(moments(n, [](int i) { return normal_number(7, 3, 0, i); }), n);
}

TEST(StallNumbers, UniformFillsTheUnitIntervalEvenly) {
  constexpr int n = 200000, bins = 50;
  std::vector<int> count(bins);
  for (int i = 0; i < n; ++i) {
    const double u = uniform_number(1, i % 64, 1, i / 64);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++count[static_cast<std::size_t>(u * bins)];
  }
  double chi2 = 0;
  for (const int c : count) chi2 += std::pow(c - n / bins, 2) / (n / bins);
  EXPECT_LT(chi2, 85.4);  // the 99.9 % point of 49 degrees of freedom
  const auto m = moments(n, [](int i) { return uniform_number(2, 0, 0, i); });
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / n));
}

TEST(StallNumbers, NeighboursAreNotCorrelated) {
  constexpr int n = 200000;
  const auto correlation = [](auto a, auto b) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += a(i) * b(i);
    return sum / n;
  };
  const auto base = [](int i) { return normal_number(7, 3, 0, i); };
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 3, 0, i + 1); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 4, 0, i); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(8, 3, 0, i); }), 0, 0.012);
  EXPECT_NEAR(correlation(base, [](int i) { return normal_number(7, 3, 1, i); }), 0, 0.012);
}

}  // namespace
}  // namespace stepcast
