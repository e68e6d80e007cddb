#include "stepcast/base/csv.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

using Cells = std::vector<std::string>;

TEST(Csv, QuotesHoldCommasQuotesAndLineEnds) {
  const auto records =
      parse_csv("a,\"b, c\"\r\n\"say \"\"so\"\"\",\"two\r\nlines\"\n\nlast, x", "t");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].cells, (Cells{"a", "b, c"}));
  EXPECT_EQ(records[1].cells, (Cells{"say \"so\"", "two\r\nlines"}));
  EXPECT_EQ(records[2].cells, (Cells{"last", " x"})) << "blanks stay";
  EXPECT_EQ(records[0].line, 1);
  EXPECT_EQ(records[1].line, 2);
  EXPECT_EQ(records[2].line, 5) << "behind two lines of one cell and an empty one";
}

TEST(Csv, SkipsAByteOrderMarkAndKeepsEmptyCells) {
  const auto records = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\n,\n",
      "t");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].cells, (Cells{"a", "b"}));
  EXPECT_EQ(records[1].cells, (Cells{"", ""}));
  EXPECT_TRUE(parse_csv("", "t").empty());
  EXPECT_TRUE(parse_csv("\n  \r\n", "t").empty());
}

TEST(Csv, AQuoteWithoutEndIsPlacedWhereItBegins) {
  try {
    (void)parse_csv("a\nb,\"c\nd", "table.csv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "table.csv:2:1: holds a quote without end");
  }
}

TEST(Csv, NothingStandsBehindTheQuoteThatEndsACell) {
  try {
    (void)parse_csv("a\n\"un\"closed,b\n", "table.csv");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "table.csv:2:1: holds text behind the quote that ends a cell, allowed: a comma or "
                 "the end of the line; a quote inside of a cell is written twice");
  }
  const auto records = parse_csv("\"\" ,un\"quoted\n\"a\"\r", "t");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].cells, (Cells{" ", "un\"quoted"}));
}

TEST(Csv, WhatIsWrittenReadsBack) {
  const auto cell =
      rc::gen::container<std::string>(rc::gen::element('a', ' ', ',', '"', '\n', '\r', '1'));
  EXPECT_TRUE(rc::check([&] {
    const auto cells = *rc::gen::nonEmpty(rc::gen::container<Cells>(cell));
    std::string line = "x";  // no empty line, and none that begins with a quoted blank
    for (const std::string& c : cells) line += "," + csv_cell(c);
    const auto records = parse_csv(line + "\n", "t");
    RC_ASSERT(records.size() == 1U);
    Cells expected{"x"};
    expected.insert(expected.end(), cells.begin(), cells.end());
    RC_ASSERT(records[0].cells == expected);
  }));
}

}  // namespace
}  // namespace stepcast
