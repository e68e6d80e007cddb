#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "stepcast/base/build.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"

namespace stepcast {
namespace {

PointTable table_of(const std::vector<std::pair<double, double>>& points) {
  PointTable table;
  for (const auto& [time, memory] : points) {
    PointResult row{.version = version, .fingerprint = build_fingerprint(), .sweep = "s"};
    row.point = static_cast<std::int64_t>(table.rows.size());
    row.varied = {{"parallel.vpp", std::to_string(table.rows.size())}, {"a.b", "one, two"}};
    row.numbers.resize(number_names().size());
    row.numbers[number_place("step_time_s")] = time;
    row.numbers[number_place("mfu")] = 1 / time;
    row.numbers[number_place("peak_memory_bytes")] = memory;
    table.rows.push_back(row);
  }
  return table;
}

std::string points_of(const PointTable& table) {
  std::string text;
  for (const PointResult& row : table.rows) text += std::to_string(row.point) + " ";
  return text;
}

TEST(SweepRows, AreSortedBestFirst) {
  PointTable table = table_of({{3, 1}, {1, 3}, {2, 2}});
  EXPECT_EQ(points_of(arranged(table, {"step_time_s", {}, ""})), "1 2 0 ");
  EXPECT_EQ(points_of(arranged(table, {"mfu", {}, ""})), "1 2 0 ") << "more is better";
  EXPECT_EQ(points_of(arranged(table, {"mfu:asc", {}, ""})), "0 2 1 ");
  EXPECT_EQ(points_of(arranged(table, {"parallel.vpp:desc", {}, ""})), "2 1 0 ");
  EXPECT_EQ(points_of(arranged(table, {"", 2, ""})), "1 2 ");
  table.rows[1].status = PointStatus::out_of_memory;
  EXPECT_EQ(points_of(arranged(table, {"", 2, ""})), "2 0 ") << "the best fit";
  table.rows[2].numbers[number_place("step_time_s")].reset();
  EXPECT_EQ(points_of(arranged(table, {"step_time_s", {}, ""})), "1 0 2 ");
  EXPECT_THROW(arranged(table, {"step_tim", {}, ""}), InputError);
  EXPECT_THROW(arranged(table, {"mfu:up", {}, ""}), InputError);
}

/// The plain reference: a row stays unless some other is at most as long and as large, and better.
TEST(SweepRows, TheFrontierHasWhatNothingBeats) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<unsigned char, unsigned char>>& points) {
    std::vector<std::pair<double, double>> numbers;
    for (const auto& [time, memory] : points) numbers.emplace_back(time + 1.0, memory);
    std::string wanted;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bool beaten = false;
      for (const auto& other : numbers)
        beaten = beaten || (other.first <= numbers[i].first && other.second <= numbers[i].second &&
                            other != numbers[i]);
      if (!beaten) wanted += std::to_string(i) + " ";
    }
    RC_ASSERT(points_of(arranged(table_of(numbers), {"", {}, "step_time_s,peak_memory_bytes"})) ==
              wanted);
  }));
  EXPECT_THROW(arranged(table_of({{1, 1}}), {"", {}, "mfu"}), InputError);
}

TEST(SweepRows, PricesAreAColumnWhereSomePointHasThem) {
  PointTable table = table_of({{3, 1}, {1, 3}});
  EXPECT_EQ(points_table(table).find("cost"), std::string::npos);
  table.rows[0].numbers[number_place("cost_per_token")] = 2.5e-7;
  const std::string text = points_table(table);
  EXPECT_NE(text.find("cost/Mtok"), std::string::npos) << text;
  EXPECT_NE(text.find("     0.25\n"), std::string::npos) << text;
  EXPECT_EQ(points_of(arranged(table, {"cost_per_token", {}, ""})), "0 1 ");
  for (const std::size_t columns : {80U, 100U}) {
    std::istringstream lines(points_table(table, columns));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(SweepRows, VariedKeysAreColumnsWithNumbers) {
  const PointTable table = table_of({{1, 1}});
  const std::string csv = points_csv(table);
  EXPECT_NE(csv.find("other_build,parallel.vpp,a.b\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",0,\"one, two\"\n"), std::string::npos) << csv;
  const std::string json = points_json("s", table);
  EXPECT_NE(json.find("\"parallel.vpp\": 0"), std::string::npos) << json;
  EXPECT_EQ(plain_value("4Ki"), "4096");
  EXPECT_EQ(plain_value("1f1b"), "1f1b");
  EXPECT_EQ(from_line(to_line(table.rows[0])), table.rows[0]);
  PointTable wide = table;
  wide.rows[0].values = std::string(200, 'x') + "end";
  wide.rows[0].status = PointStatus::invalid;
  wide.rows[0].reason = std::string(300, 'y');
  wide.rows[0].fingerprint = "other";
  for (const std::size_t columns : {80U, 120U}) {
    std::istringstream lines{points_table(wide, columns)};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns);
  }
  EXPECT_NE(points_table(wide, 80).find("  vpp=0 b=one, two"), std::string::npos)
      << points_table(wide, 80);
  EXPECT_NE(points_table(wide).find(wide.rows[0].values), std::string::npos) << "a file has all";
}

}  // namespace
}  // namespace stepcast
