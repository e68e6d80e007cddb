#include "stepcast/base/known_keys.hpp"

#include <gtest/gtest.h>

#include "stepcast/base/document.hpp"

namespace stepcast {
namespace {

/// A description with every form of key.
std::string wrong(std::string_view path, std::string_view value) {
  std::int64_t count = 1;
  Seconds time{0};
  std::vector<std::int64_t> entries;
  bool present = false;
  const Node* found = nullptr;
  std::size_t kind = 0, which = 0;
  const auto body = [&](Visitor& v) {
    v.field({"count", &count, "", between(1, 9)});
    v.field({"time", &time, ""});
    v.section("part", "", [&](Visitor& w) { w.field({"inner", &count, "", between(1, 9)}); });
    v.optional_section("maybe", "", present, [&](Visitor& w) { w.field({"inner", &count, ""}); });
    v.alternatives("kind", "", kind,
                   {{"a",
                     [&](Visitor& w) {
                       w.field({"both", &count, "", between(1, 9)});
                     }},
                    {"b",
                     [&](Visitor& w) {
                       w.field({"both", &time, ""});
                     }},
                    {"c",
                     [&](Visitor& w) {
                       w.field({"later", &count, ""});
                     },
                     false}});
    v.one_of(which, {{"x",
                      [&](Visitor& w) {
                        w.field({"x", &count, ""});
                      }},
                     {"y", [&](Visitor& w) {
                        w.field({"y", &time, ""});
                      }}});
    v.optional_list(
        "list", "", entries.size(), [&](std::size_t size) { entries.resize(size); },
        [&](Visitor& w, std::size_t i) {
          w.field({"n", &entries[i], "", between(1, 9)});
        });
    v.paths("lists", "", {"thing", [](Visitor&) {}, true, &found});
  };
  return wrong_assignment(body, path, parse_document(value, "f"));
}

TEST(KnownKeys, TakeWhatTheirTypeTakes) {
  EXPECT_EQ(wrong("count", "9"), "");
  EXPECT_EQ(wrong("count", "10"), "is 10, allowed: 1 to 9");
  EXPECT_EQ(wrong("time", "2ms"), "");
  EXPECT_EQ(wrong("time.value", "2ms"), "");
  EXPECT_EQ(wrong("time.source", "measured"), "");
  EXPECT_EQ(wrong("time.other", "1"), "holds no keys of its own");
  EXPECT_EQ(wrong("part", "{}"), "");
  EXPECT_EQ(wrong("part", "1"), "is '1', allowed: a mapping");
  EXPECT_EQ(wrong("part.inner", "3"), "");
  EXPECT_EQ(wrong("part.iner", "3"), "is not a known key; did you mean inner?");
  EXPECT_EQ(wrong("maybe", "none"), "");
  EXPECT_EQ(wrong("maybe.inner", "3"), "");
  EXPECT_EQ(wrong("lists", "{}"), "maps paths of keys, which are set one by one");
}

TEST(KnownKeys, OfAnyAlternativeAreKnown) {
  EXPECT_EQ(wrong("kind", "b"), "");
  EXPECT_EQ(wrong("kind", "c"), "is 'c', which is not built yet, allowed: a, b");
  EXPECT_EQ(wrong("both", "4"), "");     // of a
  EXPECT_EQ(wrong("both", "4ms"), "");   // of b
  EXPECT_NE(wrong("both", "none"), "");  // of neither
  EXPECT_NE(wrong("later", "1"), "");
  EXPECT_EQ(wrong("x", "4"), "");
  EXPECT_EQ(wrong("y", "4ms"), "");
  EXPECT_EQ(wrong("z", "4"),
            "is not a known key, allowed: count, time, part, maybe, kind, both, x, y, list, lists");
}

TEST(KnownKeys, OfEntriesStandBehindTheirNumber) {
  EXPECT_EQ(wrong("list", "none"), "");
  EXPECT_EQ(wrong("list", "[{n: 1}]"), "");
  EXPECT_EQ(wrong("list", "1"), "is '1', allowed: a list of mappings");
  EXPECT_EQ(wrong("list.0.n", "3"), "");
  EXPECT_EQ(wrong("list.7.n", "30"), "is 30, allowed: 1 to 9");
  EXPECT_EQ(wrong("list.n", "3"), "names no key of an entry, allowed: list.0.key");
}

}  // namespace
}  // namespace stepcast
