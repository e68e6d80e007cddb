#include "stepcast/sim/accuracy/intervals.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "stepcast/base/quantile.hpp"

namespace stepcast {
namespace {

/// `count` unseen dense rows of a source whose quotients of published over forecast are 1, 1.01...
void add(Ledger& ledger, const std::string& family, const std::string& device, int count,
         double scale = 1) {
  for (int i = 0; i < count; ++i) {
    MeasuredRow row;
    row.family = family;
    row.device = device;
    row.hardware = "1";
    row.label = RowLabel::foreign;
    row.published = scale * (1 + 0.01 * i);
    row.forecast = 1;
    ledger.rows.push_back(row);
  }
}

const IntervalClass& find(const std::vector<IntervalClass>& all, const std::string& name) {
  for (const IntervalClass& c : all)
    if (c.name == name) return c;
  throw std::runtime_error("no class " + name);
}

/// The middle is the median; the next of 102 values lies with 80 % below the rank 81.6.
TEST(Intervals, AreWhatMostRowsOfASourceLieNearerThan) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  const IntervalClass all = interval_classes(ledger).front();
  EXPECT_EQ(all.rows, 101U);
  std::vector<double> distances;
  for (int i = 0; i <= 100; ++i) distances.push_back(std::abs(std::log((1 + 0.01 * i) / 1.5)));
  const double half = std::exp(quantile(distances, (102 * 0.8 - 1) / 100));
  EXPECT_NEAR(all.range.low, 1.5 / half, 1e-12);
  EXPECT_NEAR(all.range.high, 1.5 * half, 1e-12);
}

TEST(Intervals, ASourceIsJudgedByTheOthers) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  add(ledger, "two", "a100", 101, 10);  // no quotient of the one lies among those of the other
  EXPECT_EQ(find(interval_classes(ledger), "dense, A100").inside, 0);
  ledger.rows.resize(101);
  add(ledger, "two", "a100", 101);
  const IntervalClass alike = find(interval_classes(ledger), "dense, A100");
  EXPECT_NEAR(alike.inside, 81.0 / 101, 1e-12);
}

/// Sources that differ in their level alone: distances are those from the middle of the others, so
/// the range holds a source that it has not seen.
TEST(Intervals, AreAsWideAsSourcesDiffer) {
  Ledger ledger;
  const double level[] = {1, 1.5, 2.25};
  const char* name[] = {"one", "two", "three"};
  for (int i = 0; i < 3; ++i) add(ledger, name[i], "a100", 1, level[i]);
  const IntervalClass all = interval_classes(ledger).front();
  const double step = std::log(1.5);  // the outer two lie 1.5 steps from the middle of the others
  EXPECT_NEAR(std::log(all.range.low), step - 1.5 * step, 1e-12);
  EXPECT_NEAR(std::log(all.range.high), step + 1.5 * step, 1e-12);
}

/// A source of n rows weighs sqrt(n): the many rows of one do not decide the middle alone.
TEST(Intervals, ASourceWeighsTheRootOfItsRows) {
  Ledger ledger;
  for (int i = 0; i < 16; ++i) add(ledger, "one", "a100", 1);
  for (int s = 0; s < 5; ++s) add(ledger, std::string(1, static_cast<char>('a' + s)), "a100", 1, 2);
  const QuotientRange range = interval_classes(ledger).front().range;
  EXPECT_NEAR((std::log(range.low) + std::log(range.high)) / 2, std::log(2), 1e-12);
}

/// One source of the class and two that are taken to speak for the next wider one, class by class.
TEST(Intervals, ASmallClassIsShrunkTowardsTheNextWiderOne) {
  Ledger ledger;
  for (int s = 0; s < 30; ++s) add(ledger, "a" + std::to_string(s), "a100", 1);
  for (int i = 0; i < 3; ++i) add(ledger, "new", "h100", 1, 2);
  const auto logs = [&](const char* name) {
    const QuotientRange range = find(interval_classes(ledger), name).range;
    return std::pair{std::log(range.low), std::log(range.high)};
  };
  const auto middle = [&](const char* name) { return (logs(name).first + logs(name).second) / 2; };
  const auto half = [&](const char* name) { return (logs(name).second - logs(name).first) / 2; };
  EXPECT_NEAR(middle("dense"), 0, 1e-12);
  EXPECT_NEAR(middle("dense, H100"), std::log(2) / 3, 1e-12);
  EXPECT_NEAR(middle("dense, A100"), 0, 1e-12);
  // three rows say no width of their own; those of A100 lie on the middle of the others
  EXPECT_NEAR(half("dense, H100"), 0, 1e-12);
  add(ledger, "new", "h100", 1, 2);
  EXPECT_NEAR(half("dense, H100"), std::log(2) / 3, 1e-12);
}

TEST(Intervals, MemoryIsOfTheRowsThatReportIt) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  EXPECT_EQ(interval_files(ledger, {}).front().text.find("memory"), std::string::npos);
  for (std::size_t i = 0; i < 51; ++i) {
    ledger.rows[i].published_memory = 50e9 + 1e9 * static_cast<double>(i);
    ledger.rows[i].forecast_memory = 50e9;
  }
  const IntervalClass memory = find(interval_classes(ledger), "memory, A100");
  EXPECT_EQ(memory.rows, 51U);
  EXPECT_NEAR(memory.range.low, 1.143, 1e-3);
  EXPECT_NEAR(memory.range.high, 1.968, 1e-3);
  EXPECT_NE(
      interval_files(ledger, {})
          .front()
          .text.find("memory: {low: {value: 1.143, source: fitted}, high: {value: 1.968, source: "
                     "fitted},\n"
                     "    class: \"51 measured peaks of memory on A100\", wider: false, devices: "
                     "[a100@1]}"),
      std::string::npos);
}

TEST(Intervals, FittedSupersededFailedAndSyntheticRowsAreInNone) {
  Ledger ledger;
  add(ledger, "one", "a100", 30);
  add(ledger, "two", "a100", 4, 50);
  ledger.rows[30].label = RowLabel::fitted;
  ledger.rows[31].label = RowLabel::superseded;
  ledger.rows[32].failure = "no";
  ledger.rows[33].model = false;
  EXPECT_EQ(interval_classes(ledger).front().rows, 30U);
  EXPECT_LT(interval_classes(ledger).front().range.high, 1.3);
}

TEST(Intervals, OfAHardwareTypeArePartsOfItsClusterFile) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  const auto files = interval_files(ledger, {});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "interval-a100.yaml");
  EXPECT_NE(files[0].text.find("extends: a100.yaml\n"), std::string::npos);
  EXPECT_NE(
      files[0].text.find("interval: {low: {value: 1.149, source: fitted}, high: {value: 1.959"),
      std::string::npos);
  EXPECT_NE(files[0].text.find(
                "class: \"101 measured dense steps on A100\", wider: false, devices: [a100@1]"),
            std::string::npos);
  EXPECT_NE(files[0].text.find("class: \"101 measured steps\", wider: true, devices: []"),
            std::string::npos);
}

TEST(Intervals, OfPlainQuestionsAreThoseOfTheirOwnForecasts) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  std::vector<PlainRow> plain;
  for (const MeasuredRow& row : ledger.rows) {
    MeasuredRow assumed = row;
    assumed.forecast /= 2;
    plain.push_back({row, row, assumed});
  }
  EXPECT_NE(interval_files(ledger, plain)
                .front()
                .text.find("plain: {low: {value: 2.298, source: fitted}, high: {value: 3.917"),
            std::string::npos);
  EXPECT_NEAR(plain_classes(plain).front().range.high, 3.917, 1e-3);
}

}  // namespace
}  // namespace stepcast
