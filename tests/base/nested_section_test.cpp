#include <gtest/gtest.h>

#include "section_errors.hpp"

namespace stepcast {
namespace {

using test::errors_of;

struct Nested {
  std::int64_t size = 0;
  bool present = false;
  std::size_t kind = 0, which = 0;
  std::vector<std::int64_t> items;
};

void describe(Visitor& v, Nested& n) {
  v.section("inner", "a mapping", [&](Visitor& w) {
    w.field({"size", &n.size, "a size", at_least(1), true});
  });
  v.optional_section("maybe", "a mapping", n.present, [&](Visitor& w) {
    w.field({"size", &n.size, "a size", at_least(1)});
  });
  v.section("shape", "a shape", [&](Visitor& w) {
    w.alternatives("kind", "round or square", n.kind,
                   {{"round",
                     [&](Visitor& x) {
                       x.field({"radius", &n.size, "a radius"});
                     }},
                    {"square",
                     [&](Visitor& x) {
                       x.field({"side", &n.size, "a side"});
                     }},
                    {"star", [](Visitor&) {}, false}});
  });
  v.one_of(n.which, {{"left",
                      [&](Visitor& w) {
                        w.field({"left", &n.size, "one way"});
                      }},
                     {"right", [&](Visitor& w) {
                        w.field({"right", &n.size, "another"});
                      }}});
  v.list(
      "items", "entries", n.items.size(), [&](std::size_t size) { n.items.resize(size); },
      [&](Visitor& w, std::size_t i) {
        w.field({"n", &n.items[i], "a number", any_number(), true});
      });
}

std::string nested(std::string_view text, Nested& n) {
  Reading reading;
  return errors_of(
      text, [&](Visitor& v) { describe(v, n); }, reading);
}
std::string nested(std::string_view text) {
  Nested n;
  return nested(text, n);
}

TEST(Section, ReadsWhatIsNested) {
  Nested n;
  EXPECT_EQ(nested("inner: {size: 3}\nmaybe: none\nshape: {kind: square, side: 5}\nright: "
                   "2\nitems: [{n: 1}, {n: 2}]",
                   n),
            "");
  EXPECT_FALSE(n.present);
  EXPECT_EQ(n.kind, 1U);
  EXPECT_EQ(n.which, 1U);
  EXPECT_EQ(n.items, (std::vector<std::int64_t>{1, 2}));
}

TEST(Section, NestedErrorsHaveTheirPath) {
  EXPECT_EQ(nested("inner: {}\nleft: 1\nitems: [{n: 1}]"),
            "f:1:8: inner.size: is missing (a size), allowed: a whole number such as 8 or 40Mi, at "
            "least 1");
  EXPECT_EQ(nested("inner: {size: 1, size:2}\nleft: 1\nitems: [{n: 1}]"),
            "f:1:18: inner.size: has no blank behind its colon, allowed: size: 2");
  EXPECT_EQ(nested("left: 1\nitems: [{n: 1}]"),
            "f:1:1: inner: is missing, allowed: a mapping with size");
  EXPECT_EQ(nested("inner: 3\nleft: 1\nitems: [{n: 1}]"),
            "f:1:8: inner: is '3', allowed: a mapping of size");
  EXPECT_EQ(nested("inner: {size: 1}\nmaybe: 3\nleft: 1\nitems: [{n: 1}]"),
            "f:2:8: maybe: is '3', allowed: a mapping of size, or none");
  EXPECT_EQ(nested("inner: {size: 1}\nleft: 1\nitems: [{n: 1}, {m: 1}]"),
            "f:3:17: items.1.n: is missing (a number), allowed: a whole number such as 8 or 40Mi\n"
            "f:3:18: items.1.m: is not a known key, allowed: n");
  EXPECT_EQ(nested("inner: {size: 1}\nleft: 1\nitems: []"),
            "f:3:8: items: is an empty list, allowed: a list of mappings (entries)");
}

TEST(Section, APartMayLackWhatOthersGiveButNothingInItMayBeWrong) {
  const auto said = [](std::string_view text) {
    Nested n;
    Reading reading{.partial = true};
    return errors_of(
        text, [&](Visitor& v) { describe(v, n); }, reading);
  };
  EXPECT_EQ(said(""), "");
  EXPECT_EQ(said("inner: {}\nitems: [{}]"), "");
  EXPECT_EQ(said("inner: {sise: 3}"), "f:1:9: inner.sise: is not a known key; did you mean size?");
  EXPECT_EQ(said("inner: {size: 0}"), "f:1:15: inner.size: is 0, allowed: at least 1");
}

TEST(Section, AnOptionalListMayBeLeftOut) {
  std::vector<std::int64_t> items{7};
  const auto said = [&](std::string_view text) {
    Reading reading;
    return errors_of(
        text,
        [&](Visitor& v) {
          v.optional_list(
              "items", "entries", items.size(), [&](std::size_t size) { items.resize(size); },
              [&](Visitor& w, std::size_t i) {
                w.field({"n", &items[i], "a number", any_number(), true});
              });
        },
        reading);
  };
  EXPECT_EQ(said("{}"), "");
  EXPECT_EQ(items, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(said("items: [{n: 1}, {n: 2}]"), "");
  EXPECT_EQ(items, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(said("items: none"), "");
  EXPECT_TRUE(items.empty());
  EXPECT_EQ(said("items: []"), "");
  EXPECT_EQ(said("items: {n: 1}"),
            "f:1:8: items: is a mapping, allowed: a list of mappings (entries), none");
  EXPECT_EQ(said("items: [{n: 1}, 2]"), "f:1:17: items.1: is '2', allowed: a mapping of n");
}

TEST(Section, PlacesReachIntoLists) {
  const Node root = parse_document("a:\n  - {b: 1}\n  - {b: 2}\n", "f");
  EXPECT_EQ(place_of(root, "a.1.b").line, 3);
  EXPECT_EQ(place_of(root, "a.1.b").column, 9);
  EXPECT_EQ(place_of(root, "a.2.b").line, 2);
  EXPECT_EQ(place_of(root, "a.x").line, 2);
}

TEST(Section, AlternativesOfAnotherKindAreUnknown) {
  const std::string rest = "\ninner: {size: 1}\nleft: 1\nitems: [{n: 1}]";
  EXPECT_EQ(nested("shape: {kind: square, radius: 5}" + rest),
            "f:1:23: shape.radius: is not a known key, allowed: kind, side");
  EXPECT_EQ(nested("shape: {kind: star, rays: 5}" + rest),
            "f:1:15: shape.kind: is 'star', which is not built yet, allowed: round, square");
  EXPECT_EQ(nested("shape: {kind: rond}" + rest),
            "f:1:15: shape.kind: is 'rond', allowed: round, square; did you mean round?");
}

TEST(Section, ExactlyOneOfTheKeys) {
  const std::string rest = "inner: {size: 1}\nitems: [{n: 1}]\n";
  EXPECT_EQ(nested(rest), "f:1:1: has none of left, right, allowed: exactly one of them");
  EXPECT_EQ(nested(rest + "left: 1\nright: 2"),
            "f:4:1: right: does not go with left, allowed: exactly one of left, right");
  EXPECT_EQ(nested(rest + "rihgt: 2"),
            "f:1:1: has none of left, right, allowed: exactly one of them\n"
            "f:3:1: rihgt: is not a known key; did you mean right?");
}

TEST(Section, NamesAKeyThatAlternativesShareOnce) {
  std::int64_t number = 0;
  std::size_t which = 0;
  const Visitor::Body left = [&](Visitor& v) {
    v.field({"left", &number, "one way"});
    v.field({"common", &number, "of both"});
  };
  const Visitor::Body right = [&](Visitor& v) {
    v.field({"common", &number, "of both"});
    v.field({"right", &number, "another"});
  };
  const auto body = [&](Visitor& v) { v.one_of(which, {{"left", left}, {"right", right}}); };
  Reading reading;
  EXPECT_EQ(errors_of("somewhere: 1\n", body, reading),
            "f:1:1: has none of left, right, allowed: exactly one of them\n"
            "f:1:1: somewhere: is not a known key, allowed: left, common, right");
}

}  // namespace
}  // namespace stepcast
