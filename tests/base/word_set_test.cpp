#include <gtest/gtest.h>

#include "stepcast/base/section.hpp"

namespace stepcast {
namespace {

/// A choice between nothing and a set of words.
std::string read(std::string_view text, std::uint32_t& chosen) {
  Reading reading;
  const Node root = parse_document(text, "f");
  Section section{root, {}, reading};
  Choice choice{{{"none"}, {"parts"}},
                [&] { return std::size_t{chosen != 0 ? 1U : 0U}; },
                [&](std::size_t i) {
                  if (i == 0) chosen = 0;
                }};
  choice.set_of_words = {"parts", {"one", "two", "three"}, &chosen};
  choice.set_option = 1;
  section.field({"of", choice, "parts"});
  section.finish();
  return reading.diagnostics.empty() ? "" : reading.diagnostics.front().text();
}

TEST(WordSet, HasABitForEachOfItsWords) {
  for (const auto& [text, bits] : {std::pair{"of: {parts: [one]}", 1U},
                                   {"of: {parts: [two]}", 2U},
                                   {"of: {parts: [three, one]}", 5U},
                                   {"of: {parts: [one, two, three]}", 7U},
                                   {"of: none", 0U}}) {
    std::uint32_t chosen = 2;
    EXPECT_EQ(read(text, chosen), "") << text;
    EXPECT_EQ(chosen, bits) << text;
    if (bits == 0) continue;
    std::vector<std::string_view> words{"one", "two", "three"};
    std::uint32_t again = 0;
    EXPECT_EQ(read("of: " + word_set_text({"parts", words, &chosen}), again), "") << text;
    EXPECT_EQ(again, chosen) << text;
  }
}

TEST(WordSet, IsNeitherEmptyNorTwiceTheSame) {
  std::uint32_t chosen = 4;
  EXPECT_TRUE(read("of: {parts: []}", chosen).starts_with("f:1:5: of: holds no word"));
  EXPECT_TRUE(read("of: {parts: [two, two]}", chosen).starts_with("f:1:5: of: holds 'two' twice"));
  EXPECT_TRUE(read("of: {parts: [four]}", chosen).starts_with("f:1:5: of: holds 'four', allowed"));
  EXPECT_TRUE(read("of: {words: [two]}", chosen).starts_with("f:1:5: of: is a mapping, allowed"));
  EXPECT_EQ(chosen, 4U);
}

}  // namespace
}  // namespace stepcast
