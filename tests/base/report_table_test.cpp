#include "stepcast/base/report_table.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

ReportTable two_rows() {
  ReportTable table({text_column("link"), number_column("count"), text_column("why")});
  table.add({"hccs", "7", ""});
  table.add({"a|b", "12345678", "long"});
  return table;
}

TEST(ReportTable, AlignsWordsLeftAndNumbersRightAndEndsNoLineWithBlanks) {
  EXPECT_EQ(two_rows().text("  "),
            "  link     count  why\n"
            "  hccs         7\n"
            "  a|b   12345678  long\n");
}

TEST(ReportTable, EscapesBarsInMarkdown) {
  EXPECT_EQ(two_rows().markdown(),
            "| link | count | why |\n"
            "|---|---:|---|\n"
            "| hccs | 7 |  |\n"
            "| a\\|b | 12345678 | long |\n");
}

TEST(ReportTable, RefusesARowOfAnotherLength) {
  ReportTable table({text_column("link")});
  EXPECT_THROW(table.add({"a", "b"}), ContractError);
}

}  // namespace
}  // namespace stepcast
