#include <gtest/gtest.h>

#include "stepcast/base/section.hpp"

namespace stepcast {
namespace {

/// A choice that may be written out in a file instead.
struct Spec {
  bool second = false;
  std::string file;
};

std::string read(std::string_view text, Spec& spec) {
  Reading reading;
  const Node root = parse_document(text, "f");
  Section section{root, {}, reading};
  const std::vector<Option> options{{"first"}, {"second"}};
  Choice choice{options, [&] { return std::size_t{spec.second ? 1U : 0U}; },
                [&](std::size_t i) { spec.second = i == 1; }};
  choice.file = &spec.file;
  section.field({"order", choice, "an order"});
  section.finish();
  return reading.diagnostics.empty() ? "" : reading.diagnostics.front().text();
}

TEST(ChoiceOfFile, IsATableWithAName) {
  Spec spec;
  EXPECT_EQ(read("order: {table: own.yaml}", spec), "");
  EXPECT_EQ(spec.file, "own.yaml");
  spec = {};
  EXPECT_EQ(read("order: second", spec), "");
  EXPECT_TRUE(spec.second);
  EXPECT_EQ(spec.file, "");
}

TEST(ChoiceOfFile, IsNothingElse) {
  for (const char* wrong : {"{}", "{table: ''}", "{table: [own.yaml]}", "{file: own.yaml}",
                            "{table: own.yaml, table_of: chunks}"}) {
    Spec spec;
    const std::string error = read(std::string("order: ") + wrong, spec);
    EXPECT_TRUE(error.starts_with("f:1:8: order: is a mapping, allowed: first, second")) << error;
    EXPECT_EQ(spec.file, "") << wrong;
  }
}

}  // namespace
}  // namespace stepcast
