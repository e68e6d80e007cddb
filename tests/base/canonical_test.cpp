#include "stepcast/base/canonical.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace stepcast {
namespace {

TEST(Canonical, OneLinePerKeyInTheOrderOfTheDescription) {
  std::int64_t count = 3;
  Seconds time{60e-6};
  bool present = false;
  std::optional<std::int64_t> dp;
  Table table{{1, 2}, {3, 4}};
  std::size_t kind = 1, which = 0;
  std::vector<std::string> order{"tp", "pp"};
  std::vector<std::int64_t> numbers{3, 17};
  Choice layers{
      {{"auto"}, {"table"}}, [] { return std::size_t{1}; }, [](std::size_t) {}, nullptr, &table, 1};
  const auto body = [&](Visitor& v) {
    v.field({"time", &time, ""});
    v.section("inner", "", [&](Visitor& w) { w.field({"count", &count, ""}); });
    v.optional_section("maybe", "", present, [&](Visitor& w) { w.field({"count", &count, ""}); });
    v.field({"dp", OptionalCount{&dp, "auto"}, ""});
    v.field({"layers", layers, ""});
    v.alternatives("kind", "", kind, {{"a", [](Visitor&) {}}, {"b", [&](Visitor& w) {
                                                                 w.field({"order", &order, ""});
                                                               }}});
    v.one_of(which, {{"x",
                      [&](Visitor& w) {
                        w.field({"x", &count, ""});
                      }},
                     {"y", [](Visitor&) {}}});
    v.list(
        "items", "", 2, [](std::size_t) {},
        [&](Visitor& w, std::size_t) {
          w.field({"n", &count, ""});
        });
    v.optional_list(
        "more", "", 1, [](std::size_t) {},
        [&](Visitor& w, std::size_t) {
          w.field({"numbers", &numbers, ""});
        });
  };
  EXPECT_EQ(canonical_text(body),
            "time=6e-05\ninner.count=3\nmaybe=none\ndp=auto\nlayers=[[1,2],[3,4]]\nkind=b\norder="
            "tp, pp\nx=3\n"
            "items.0.n=3\nitems.1.n=3\nmore.0.numbers=[[3,17]]\n");
}

TEST(Canonical, Sha256IsTheStandardOne) {
  // FIPS 180-2, appendix B.1, and the digest of the empty text.
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace stepcast
