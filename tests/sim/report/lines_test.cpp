#include "stepcast/sim/report/lines.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(Folded, WideLinesGoOnBelowTheirLastColumn) {
  const std::string line = "  steps          10    p50 1.2 s, p95 1.4 s, longest 1.5 s\n";
  EXPECT_EQ(folded(line, 48),
            "  steps          10    p50 1.2 s, p95 1.4 s,\n"
            "                       longest 1.5 s\n");
  EXPECT_EQ(folded(line, 80), line);
  EXPECT_EQ(folded(line, 0), line);
}

TEST(Folded, ALastColumnFarToTheRightLeavesFourBlanks) {
  EXPECT_EQ(folded("a" + std::string(38, ' ') + "one two three\n", 44),
            "a" + std::string(38, ' ') + "one\n    two three\n");
}

TEST(Folded, ColoursAndFurtherBytesTakeNoColumn) {
  const std::string bars =
      "  \x1b[32m" + std::string("██████████████████████████████████████") + "\x1b[0m\n";
  EXPECT_EQ(folded(bars, 40), bars);
  EXPECT_EQ(folded("  " + std::string(60, 'x') + "\n", 40), "  " + std::string(60, 'x') + "\n");
}

TEST(Folded, EveryWordStaysAndNoLineIsWider) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += (i % 17 == 0 ? "\n  " : " ") + std::to_string(i * i);
  const std::string out = folded(text, 40);
  std::string words, other;
  for (const char c : out)
    if (c != ' ' && c != '\n') words += c;
  for (const char c : text)
    if (c != ' ' && c != '\n') other += c;
  EXPECT_EQ(words, other);
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t end = std::min(out.find('\n', at), out.size());
    EXPECT_LE(end - at, 40u);
    at = end + 1;
  }
}

}  // namespace
}  // namespace stepcast
