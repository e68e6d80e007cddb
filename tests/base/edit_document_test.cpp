#include "stepcast/base/edit_document.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/document.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

std::string edited(const std::string& text, const std::vector<std::string>& set) {
  return edited_document(text, "f", set);
}

std::string error_of(const std::string& text, const std::vector<std::string>& set) {
  try {
    edited(text, set);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(EditDocument, AValueIsReplacedWhereItStands) {
  const std::string text =
      "# head\na:\n  b: 1  # one\n  c: \"two, 'x' # y\"  # two\nd: {e: 'it''s', f: [1, {g: 2}]}\n";
  EXPECT_EQ(edited(text, {"a.b=12"}),
            "# head\na:\n  b: 12  # one\n  c: \"two, 'x' # y\"  # two\nd: {e: 'it''s', f: [1, {g: "
            "2}]}\n");
  EXPECT_EQ(edited(text, {"a.c=x", "d.e=y", "d.f=[3]"}),
            "# head\na:\n  b: 1  # one\n  c: x  # two\nd: {e: y, f: [3]}\n");
  EXPECT_EQ(edited("a: \"b\\\"c\" # d\n", {"a=1"}), "a: 1 # d\n");
}

TEST(EditDocument, AKeyThatLacksIsAddedToItsMapping) {
  EXPECT_EQ(edited("a:\n  # note\n  b: 1\n", {"a.c=2"}), "a:\n  # note\n  c: 2\n  b: 1\n");
  EXPECT_EQ(edited("a: {b: 1}", {"a.c.d=2"}), "a: {c: {d: 2}, b: 1}");
  EXPECT_EQ(edited("a: {}\n", {"a.c=2"}), "a: {c: 2}\n");
  EXPECT_EQ(edited("a: 1", {"b.c.d=2"}), "a: 1\nb:\n  c:\n    d: 2\n");
  EXPECT_EQ(edited("{a: 1}\n", {"b=2"}), "{b: 2, a: 1}\n");
  EXPECT_EQ(edited("a:\n    b:\n        c: 1\n", {"a.b.d.e=2"}),
            "a:\n    b:\n        d:\n          e: 2\n        c: 1\n");
}

TEST(EditDocument, SeveralKeysAreSetOneAfterTheOther) {
  EXPECT_EQ(edited("a: 1\n", {"b.c=1", "b.d=2", "b.c=3"}), "a: 1\nb:\n  d: 2\n  c: 3\n");
}

TEST(EditDocument, AValueMayHoldAnEqualsSign) {
  EXPECT_EQ(edited("a: 1\n", {"a=b=c"}), "a: b=c\n");
}

TEST(EditDocument, WhatCannotBeWrittenIsNamedAllAtOnce) {
  const std::string text = "a:\n  b: 1\nc:\n  - 1\nd: x\ne: >\n  long\n  text\n";
  EXPECT_EQ(error_of(text, {"a=1", "c=[2]", "d.x=1", "e=1"}).substr(0, 8), "f:2:3: a");
  for (const char* path : {": a: ", ": c: ", ": d.x: ", ": e: "})
    EXPECT_NE(error_of(text, {"a=1", "c=[2]", "d.x=1", "e=1"}).find(path), std::string::npos)
        << path;
  EXPECT_NE(error_of("a: {b: 1}\n", {"a.b=x, c: 2"}).find("cannot be written"), std::string::npos);
  EXPECT_NE(error_of("a: 1\n", {"a=1\nb: 2"}).find("several lines"), std::string::npos);
  for (const char* wrong : {"", "a", "=1", "a..b=1", ".a=1", "a.=1"})
    EXPECT_NE(error_of("a: 1\n", {wrong}).find("has no path and value"), std::string::npos)
        << wrong;
  EXPECT_NE(error_of("a: [", {"a=1"}), "no error");
}

}  // namespace
}  // namespace stepcast
