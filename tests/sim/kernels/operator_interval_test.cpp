#include "stepcast/sim/kernels/operator_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/kernels/components.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

const std::string shipped_folder = std::string(STEPCAST_SOURCE_DIR) + "/scenarios";
const SearchPath interval_presets{{shipped_folder}};

constexpr auto column_m = static_cast<std::size_t>(OperatorColumn::m_or_bytes);
constexpr auto column_k = static_cast<std::size_t>(OperatorColumn::k);
constexpr auto column_n = static_cast<std::size_t>(OperatorColumn::n);

OperatorRequest product(double m, ElementType type = ElementType::bf16) {
  OperatorRequest request{find_operator_kind("matmul")};
  request.shape.m = m;
  request.shape.k = request.shape.n = 512;
  request.shape.type = type;
  return request;
}

OperatorResiduals two_kinds() {
  KindResiduals products{"a", "matmul", 30, {0.9, 1.1}};
  products.types = {"bf16"};
  products.least[column_m] = 64;
  products.most[column_m] = 4096;
  for (const std::size_t side : {column_k, column_n})
    products.least[side] = products.most[side] = 512;
  KindResiduals attention{"a", "attention_forward", 30, {0.8, 1.1}};
  attention.types = {"bf16"};
  attention.generations = {"flash_2"};
  return {CommonRanges{{0.85, 1.3}, {0.5, 2}}, {products, attention}};
}

struct Expected {
  double low, high;
  MeasuredShape shape;
};
void expect_interval(const OperatorRequest& request, const std::string& device, Expected wanted) {
  const auto interval = operator_interval(two_kinds(), device, request, Seconds{10});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low.value(), 10 * wanted.low);
  EXPECT_DOUBLE_EQ(interval->high.value(), 10 * wanted.high);
  EXPECT_EQ(interval->shape, wanted.shape);
}

TEST(OperatorInterval, IsThatOfTheKindInsideAndWiderOutside) {
  const Expected inside{0.9, 1.1, MeasuredShape::inside};
  const Expected outside{0.85, 1.3, MeasuredShape::outside};
  const Expected nothing{0.5, 2, MeasuredShape::not_measured};
  expect_interval(product(64), "a", inside);
  expect_interval(product(4096, ElementType::fp16), "a", inside);
  expect_interval(product(63), "a", outside);
  expect_interval(product(4097), "a", outside);
  expect_interval(product(64, ElementType::fp8), "a", outside);
  expect_interval(product(64), "b", nothing);
  OperatorRequest norm{find_operator_kind("norm")};
  norm.shape.m = norm.shape.n = 512;
  expect_interval(norm, "a", nothing);
}

TEST(OperatorInterval, OutsideIsNoNarrowerThanInsideOnEitherSide) {
  OperatorRequest attention{find_operator_kind("attention_forward")};
  attention.shape.heads = attention.shape.head_size = attention.shape.sequence = 128;
  expect_interval(attention, "a", {0.8, 1.3, MeasuredShape::outside});  // of the usual library
}

TEST(OperatorInterval, WithoutResidualsThereIsNone) {
  EXPECT_FALSE(operator_interval({}, "a", product(64), Seconds{10}));
}

/// Measured over forecast time of each row.
ComponentLedger ledger_of(const std::vector<double>& quotients) {
  ComponentLedger ledger;
  for (const double quotient : quotients) {
    MeasuredComponent row{.device = "x", .request = product(100)};
    row.kind = row.request.kind;
    row.device_name = "a";
    row.measured = quotient;
    row.forecast = 1;
    ledger.rows.push_back(row);
  }
  return ledger;
}

OperatorResiduals written_and_read(const ComponentLedger& ledger) {
  const test::TemporaryFiles files;
  return read_residuals(files.write("operators.yaml", residuals_yaml(ledger)), interval_presets);
}

TEST(OperatorInterval, HoldsEightOfTenRows) {
  std::vector<double> quotients;  // their logarithms are even
  for (int i = 0; i <= 20; ++i) quotients.push_back(std::exp(0.01 * (i - 10)));
  ComponentLedger ledger = ledger_of(quotients);
  ledger.rows.back().exclude = "of another kernel";
  ledger.rows.back().measured = 100;
  ledger.rows.push_back(ledger_of({std::exp(0.1)}).rows.front());
  const OperatorResiduals residuals = written_and_read(ledger);
  ASSERT_EQ(residuals.kinds.size(), 1U);
  EXPECT_EQ(residuals.kinds[0].rows, 21);
  EXPECT_NEAR(residuals.kinds[0].range.low, std::exp(-0.08), 5e-5);
  EXPECT_NEAR(residuals.kinds[0].range.high, std::exp(0.08), 5e-4);
  EXPECT_EQ(residuals.kinds[0].least[column_m], 100);
  EXPECT_EQ(residuals.kinds[0].types, std::vector<std::string>{"bf16"});
}

TEST(OperatorInterval, OfFewRowsIsAsWideAsAllTogetherAndHoldsTheForecast) {
  const OperatorResiduals residuals = written_and_read(ledger_of({1.2, 1.3}));
  EXPECT_EQ(residuals.kinds[0].range.low, 1);
  EXPECT_EQ(residuals.kinds[0].range.high, residuals.common->together.high);
}

TEST(OperatorInterval, ShippedResidualsAreThoseOfTheLedgerAndNested) {
  std::ifstream file{shipped_folder + "/residuals/operators.yaml"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_EQ(text,
            residuals_yaml(measure_components(shipped_folder + "/measurements", interval_presets)));
  const OperatorResiduals residuals = shipped_residuals(interval_presets);
  ASSERT_GT(residuals.kinds.size(), 30U);
  for (const KindResiduals& known : residuals.kinds) {
    EXPECT_LE(residuals.common->widest.low, known.range.low) << known.kind;
    EXPECT_GE(residuals.common->widest.high, known.range.high) << known.kind;
    EXPECT_LE(known.range.low, 1);
    EXPECT_GE(known.range.high, 1);
  }
}

TEST(OperatorInterval, AFileWithAKindThatNobodyKnowsIsRefused) {
  const test::TemporaryFiles files;
  std::string text = residuals_yaml(ledger_of({1}));
  text.replace(text.find("kind: matmul"), 12, "kind: matmull");
  const std::string file = files.write("operators.yaml", text);
  try {
    read_residuals(file, interval_presets);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              file + ": residuals: name 'matmull', allowed: a kind of stepcast operator");
  }
}

}  // namespace
}  // namespace stepcast
