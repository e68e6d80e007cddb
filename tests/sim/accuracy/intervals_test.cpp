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

TEST(Intervals, AreTheTenthAndNineTenths) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  const IntervalClass all = interval_classes(ledger).front();
  EXPECT_EQ(all.rows, 101U);
  EXPECT_NEAR(all.range.low, 1.1, 1e-12);
  EXPECT_NEAR(all.range.high, 1.9, 1e-12);
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
  EXPECT_NEAR(alike.width, 0.8, 1e-12);
}

TEST(Intervals, ASmallClassTakesTheNextWiderOneAndIsNotNarrower) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  add(ledger, "one", "h100", 19, 1.3);
  const auto inside = interval_classes(ledger);
  const QuotientRange small = find(inside, "dense, H100").range;
  const QuotientRange wide = find(inside, "dense").range;
  EXPECT_DOUBLE_EQ(small.low, wide.low);
  EXPECT_DOUBLE_EQ(small.high, wide.high);
  add(ledger, "one", "h100", 1, 1.3);
  EXPECT_GT(find(interval_classes(ledger), "dense, H100").range.low, wide.low);
  ledger.rows.resize(101);
  add(ledger, "one", "h100", 3, 4);  // far outside, and too few to move the quantiles of all
  const auto outside = interval_classes(ledger);
  EXPECT_GT(find(outside, "dense, H100").range.high, 4);
  EXPECT_LT(find(outside, "dense").range.high, 2);
}

/// Three sources alike but for their level: the quantiles of two of them do not hold the third.
TEST(Intervals, AreStretchedByWhatSourcesDifferIn) {
  Ledger ledger;
  const double level[] = {1, 1.5, 2.25};
  const char* name[] = {"one", "two", "three"};
  for (int i = 0; i < 3; ++i) add(ledger, name[i], "a100", 21, level[i]);
  const IntervalClass all = interval_classes(ledger).front();
  std::vector<double> distances;
  const auto range = [&](int left_out) {
    std::vector<double> some;
    for (int s = 0; s < 3; ++s)
      for (int i = 0; s != left_out && i < 21; ++i)
        some.push_back(std::log(level[s] * (1 + 0.01 * i)));
    return std::pair{quantile(some, 0.1), quantile(some, 0.9)};
  };
  for (int s = 0; s < 3; ++s) {
    const auto [low, high] = range(s);
    for (int i = 0; i < 21; ++i)
      distances.push_back(std::abs(std::log(level[s] * (1 + 0.01 * i)) - (low + high) / 2) * 2 /
                          (high - low));
  }
  const auto [low, high] = range(-1);
  const double half = (high - low) / 2 * quantile(distances, 0.8);
  EXPECT_GT(half, (high - low) / 2);
  EXPECT_NEAR(all.range.low, std::exp((low + high) / 2 - half), 1e-12);
  EXPECT_NEAR(all.range.high, std::exp((low + high) / 2 + half), 1e-12);
}

/// Without the one source the other, which lies inside its wide range, is near the middle.
TEST(Intervals, AreNotNarrowerThanTheirOwnRowsWhereSourcesAgree) {
  Ledger ledger;
  add(ledger, "one", "a100", 101);
  add(ledger, "two", "a100", 101);
  add(ledger, "one", "h100", 3, 4);  // 4, 4.04, 4.08
  const QuotientRange small = find(interval_classes(ledger), "dense, H100").range;
  EXPECT_GT(small.high, 4.05);
  EXPECT_LT(small.low, 1.15);
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
  EXPECT_NEAR(memory.range.low, 1.1, 1e-12);
  EXPECT_NEAR(memory.range.high, 1.9, 1e-12);
  EXPECT_NE(
      interval_files(ledger, {})
          .front()
          .text.find(
              "memory: {low: {value: 1.1, source: fitted}, high: {value: 1.9, source: fitted},\n"
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
  EXPECT_NE(files[0].text.find("interval: {low: {value: 1.1, source: fitted}, high: {value: 1.9"),
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
                .text.find("plain: {low: {value: 2.2, source: fitted}, high: {value: 3.8"),
            std::string::npos);
  EXPECT_NEAR(plain_classes(plain).front().range.high, 3.8, 1e-12);
}

}  // namespace
}  // namespace stepcast
