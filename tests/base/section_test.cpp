#include "stepcast/base/section.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "section_errors.hpp"

namespace stepcast {
namespace {

using test::errors_of;

enum class Mode { plain, chunks, table };

/// One field of every value type.
struct Everything {
  std::int64_t count = 8;
  double factor = 1;
  bool flag = false;
  std::string text, name;
  Seconds time{1};
  Bytes size{2};
  BytesPerSecond bandwidth{3};
  FlopsPerSecond rate{4};
  Mode mode = Mode::plain;
  std::int64_t chunks = 0;
  Table table;
  std::optional<std::int64_t> dp;
  std::optional<double> capacity;
  Seconds latency{0};
  bool latency_given = false;
  double tolerance = 0;
  bool relative = false;
  std::vector<std::string> order;
  std::vector<std::int64_t> numbers;
  const Node* lists = nullptr;
};

void describe(Visitor& v, Everything& s) {
  v.field({"count", &s.count, "a count", between(1, 16)});
  v.field({"factor", &s.factor, "a factor", fraction()});
  v.field({"flag", &s.flag, "a flag"});
  v.field({"text", &s.text, "a text"});
  v.field({"name", Identifier{&s.name}, "a name"});
  v.field({"time", &s.time, "a time", between(0, 10)});
  v.field({"size", &s.size, "a size", at_least(0)});
  v.field({"bandwidth", &s.bandwidth, "a bandwidth", positive()});
  v.field({"rate", &s.rate, "a rate", positive()});
  Choice mode = choice(s.mode, {{"plain"}, {"chunks", true, true}, {"table"}, {"magic", false}});
  mode.number = &s.chunks;
  mode.table = &s.table;
  mode.table_option = 2;
  v.field({"mode", mode, "a mode", between(1, 9)});
  v.field({"dp", OptionalCount{&s.dp, "auto"}, "a size", between(1, 64)});
  v.field({"capacity", OptionalNumber{&s.capacity, "none"}, "a factor", positive()});
  v.field(
      {"latency", OptionalTime{&s.latency, &s.latency_given, "none"}, "a latency", at_least(0)});
  v.field(
      {"tolerance", Tolerance{&s.tolerance, &s.relative, Tolerance::Of::number}, "how far off"});
  v.field({"order", &s.order, "an order"});
  v.field({"numbers", &s.numbers, "some numbers", between(0, 4096)});
  v.paths("lists", "values by path", {"spec", [](Visitor&) {}, true, &s.lists});
}

std::string read_everything(std::string_view text, Everything& spec) {
  Reading reading;
  return errors_of(
      text, [&](Visitor& v) { describe(v, spec); }, reading);
}

std::string error(std::string_view text) {
  Everything spec;
  return read_everything(text, spec);
}

TEST(Section, ReadsEveryValueType) {
  Everything s;
  EXPECT_EQ(
      read_everything(
          "count: 16\nfactor: 0.5\nflag: true\ntext: Any Text\nname: a-b.c_1\ntime: 1.5us\nsize: "
          "1KiB\n"
          "bandwidth: 8Gbps\nrate: 2TFLOPS\nmode: chunks(4)\ndp: 4\ncapacity: 1.25\nlatency: 2us\n"
          "tolerance: 1%\norder: [b, a]\nnumbers: [3, 4Ki]\nlists: {a.b: [1]}\n",
          s),
      "");
  EXPECT_EQ(s.count, 16);
  EXPECT_EQ(s.factor, 0.5);
  EXPECT_TRUE(s.flag);
  EXPECT_EQ(s.text, "Any Text");
  EXPECT_EQ(s.name, "a-b.c_1");
  EXPECT_EQ(s.time.value(), 1.5e-6);
  EXPECT_EQ(s.size.value(), 1024);
  EXPECT_EQ(s.bandwidth.value(), 1e9);
  EXPECT_EQ(s.rate.value(), 2e12);
  EXPECT_EQ(s.mode, Mode::chunks);
  EXPECT_EQ(s.chunks, 4);
  EXPECT_EQ(s.dp, 4);
  EXPECT_EQ(s.capacity, 1.25);
  EXPECT_TRUE(s.latency_given);
  EXPECT_EQ(s.latency.value(), 2e-6);
  EXPECT_EQ(s.tolerance, 0.01);
  EXPECT_TRUE(s.relative);
  EXPECT_EQ(s.order, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(s.numbers, (std::vector<std::int64_t>{3, 4096}));
}

TEST(Section, KeepsDefaultsWhereNothingStands) {
  Everything s;
  s.dp = 3;
  EXPECT_EQ(read_everything("dp: auto\ncapacity: none\nlatency: none\nmode: [[1, 2], [3, 4]]", s),
            "");
  EXPECT_EQ(s.count, 8);
  EXPECT_EQ(s.time.value(), 1);
  EXPECT_FALSE(s.dp);
  EXPECT_FALSE(s.latency_given);
  EXPECT_EQ(s.mode, Mode::table);
  EXPECT_EQ(s.table, (Table{{1, 2}, {3, 4}}));
}

TEST(Section, SaysWhatIsWrongAndWhatIsAllowed) {
  EXPECT_EQ(error("count: 17"), "f:1:8: count: is 17, allowed: 1 to 16");
  EXPECT_EQ(error("count: 1.5"),
            "f:1:8: count: is '1.5', allowed: a whole number such as 8 or 40Mi, 1 to 16");
  EXPECT_EQ(
      error("count: '8'"),
      "f:1:8: count: is the quoted text '8', allowed: a whole number such as 8 or 40Mi, 1 to 16");
  EXPECT_EQ(error("factor: 0"), "f:1:9: factor: is 0, allowed: 1e-06 to 1");
  EXPECT_EQ(error("factor: .inf"),
            "f:1:9: factor: is '.inf', allowed: a number such as 0.8, 1e-06 to 1");
  EXPECT_EQ(error("flag: yes"), "f:1:7: flag: is 'yes', allowed: true, false");
  EXPECT_EQ(error("flag: 'true'"), "f:1:7: flag: is the quoted text 'true', allowed: true, false");
  EXPECT_EQ(error("name: No Name"),
            "f:1:7: name: is 'No Name', allowed: a name of lower-case letters, digits and . _ -");
  EXPECT_EQ(error("text: ''"), "f:1:7: text: is the quoted text '', allowed: a text");
  EXPECT_EQ(error("dp: some"),
            "f:1:5: dp: is 'some', allowed: a whole number such as 8 or 40Mi or auto, 1 to 64");
  EXPECT_EQ(error("tolerance: much"),
            "f:1:12: tolerance: is 'much', allowed: a percentage such as 1%, or an amount such as "
            "0.002");
  EXPECT_EQ(error("tolerance: -1%"), "f:1:12: tolerance: is -1%, allowed: nothing below 0");
  EXPECT_EQ(error("order: a"), "f:1:8: order: is 'a', allowed: a list of words");
  const std::string numbers = ", allowed: a list of whole numbers such as [3, 17], 0 to 4096";
  EXPECT_EQ(error("numbers: 3"), "f:1:10: numbers: is '3'" + numbers);
  EXPECT_EQ(error("numbers: []"), "f:1:10: numbers: is an empty list" + numbers);
  EXPECT_EQ(error("numbers: [1, -1]"), "f:1:10: numbers: holds '-1'" + numbers);
  EXPECT_EQ(error("numbers: [1, [2]]"), "f:1:10: numbers: holds a list" + numbers);
  EXPECT_EQ(error("numbers: ['1']"), "f:1:10: numbers: holds the quoted text '1'" + numbers);
  EXPECT_EQ(error("lists: [1]"), "f:1:8: lists: is a list, allowed: a mapping");
}

TEST(Section, NumbersWithADimensionCarryTheirUnit) {
  EXPECT_EQ(error("time: 1"),
            "f:1:7: time: is 1 without a unit, allowed: a time such as 1.5us or 12.3s");
  EXPECT_EQ(error("time: 0"),
            "f:1:7: time: is 0 without a unit, allowed: a time such as 1.5us or 12.3s");
  EXPECT_EQ(error("time: 1GB"),
            "f:1:7: time: is '1GB', allowed: a time such as 1.5us or 12.3s, 0s to 10s");
  EXPECT_EQ(error("time: 11s"), "f:1:7: time: is 11s, allowed: 0s to 10s");
  EXPECT_EQ(error("size: -1B"), "f:1:7: size: is -1B, allowed: at least 0B");
  EXPECT_EQ(error("bandwidth: 0Gbps"), "f:1:12: bandwidth: is 0Gbps, allowed: more than 0B/s");
  EXPECT_EQ(
      error("bandwidth: 400"),
      "f:1:12: bandwidth: is 400 without a unit, allowed: a bandwidth such as 400Gbps or 28GB/s");
  EXPECT_EQ(
      error("rate: [1]"),
      "f:1:7: rate: is a list, allowed: a compute rate such as 376TFLOPS, more than 0FLOPS; one "
      "value is wanted, 1: several are for plans and sweeps");
}

TEST(Section, ChoicesListWhatIsBuilt) {
  const std::string table =
      "a table [chunk][stage] of whole numbers such as [[4, 4], [4, 3]], 1 to 9";
  EXPECT_EQ(error("mode: plian"), "f:1:7: mode: is 'plian', allowed: plain, chunks(n), " + table +
                                      "; did you mean plain?");
  EXPECT_EQ(error("mode: magic"),
            "f:1:7: mode: is 'magic', which is not built yet, allowed: plain, chunks(n), " + table);
  EXPECT_EQ(error("mode: chunks"), "f:1:7: mode: is 'chunks', allowed: plain, chunks(n), " + table);
  EXPECT_EQ(error("mode: chunks(10)"),
            "f:1:7: mode: is 'chunks(10)', allowed: chunks(n) with n 1 to 9");
  EXPECT_EQ(error("mode: plain(1)"),
            "f:1:7: mode: is 'plain(1)', allowed: plain, chunks(n), " + table);
  EXPECT_EQ(error("mode: table"), "f:1:7: mode: is 'table', allowed: plain, chunks(n), " + table);
  EXPECT_EQ(error("mode: [[1, 99]]"),
            "f:1:7: mode: holds '99', allowed: plain, chunks(n), " + table);
  EXPECT_EQ(error("mode: [1]"), "f:1:7: mode: holds '1', allowed: plain, chunks(n), " + table);
}

TEST(Section, UnknownKeysGetTheNearest) {
  EXPECT_EQ(error("cuont: 3"), "f:1:1: cuont: is not a known key; did you mean count?");
  EXPECT_NE(error("wrong_altogether: 3").find("is not a known key, allowed: count, factor, flag,"),
            std::string::npos);
}

TEST(Section, ReportsEveryErrorAndKeepsTheDefaults) {
  Everything s;
  EXPECT_EQ(read_everything("count: x\ntime: 5\nflag: 1\nzzz: 1\nsize: 7B\n", s),
            "f:1:8: count: is 'x', allowed: a whole number such as 8 or 40Mi, 1 to 16\n"
            "f:3:7: flag: is '1', allowed: true, false\n"
            "f:2:7: time: is 5 without a unit, allowed: a time such as 1.5us or 12.3s\n"
            "f:4:1: zzz: is not a known key, allowed: count, factor, flag, text, name, time, size, "
            "bandwidth, "
            "rate, mode, dp, capacity, latency, tolerance, order, numbers, lists");
  EXPECT_EQ(s.count, 8);
  EXPECT_EQ(s.size.value(), 7);
}

TEST(Section, NumbersMayNameTheirSource) {
  Everything s;
  Reading reading;
  const auto body = [&](Visitor& v) { describe(v, s); };
  EXPECT_EQ(errors_of("time: {value: 2s, source: assumed, note: a guess}\nfactor: {value: 0.5, "
                      "source: datasheet}\n",
                      body, reading),
            "");
  EXPECT_EQ(s.time.value(), 2);
  ASSERT_EQ(reading.assumptions.size(), 2U);
  EXPECT_EQ(reading.assumptions[0].path, "factor");
  EXPECT_EQ(reading.assumptions[0].source, "datasheet");
  EXPECT_EQ(reading.assumptions[1].path, "time");
  EXPECT_EQ(reading.assumptions[1].value, "2s");
  EXPECT_EQ(reading.assumptions[1].note, "a guess");
}

TEST(Section, SourcesAreChecked) {
  const std::string allowed = "datasheet, measured, fitted, derived, assumed";
  EXPECT_EQ(error("time: {value: 2s}"),
            "f:1:7: time.source: is missing (where the number comes from), allowed: " + allowed);
  EXPECT_EQ(error("time: {value: 2s, source: guess}"),
            "f:1:27: time.source: is 'guess', allowed: " + allowed);
  EXPECT_EQ(error("time: {source: assumed}"),
            "f:1:7: time: is a mapping without value, allowed: {value, source, note}");
  EXPECT_EQ(error("time: {value: 2s, source: assumed, nte: x}"),
            "f:1:36: time.nte: is not a known key; did you mean note?");
  Everything s;
  Reading reading;
  errors_of(
      "time: {value: 99s, source: assumed}", [&](Visitor& v) { describe(v, s); }, reading);
  EXPECT_EQ(reading.diagnostics.at(0).text(), "f:1:15: time: is 99s, allowed: 0s to 10s");
  EXPECT_TRUE(reading.assumptions.empty());
}

TEST(Section, GivesAMappingOfPathsAsItStands) {
  const Node root = parse_document("lists: {a.b: [1, 2]}", "f");
  Everything spec;
  Reading reading;
  Section section{root, {}, reading};
  describe(section, spec);
  EXPECT_TRUE(reading.diagnostics.empty());
  ASSERT_NE(spec.lists, nullptr);
  EXPECT_EQ(spec.lists->find("a.b")->items.size(), 2U);
}

TEST(PlaceOf, TheValueOrItsNearestAncestor) {
  const Node root = parse_document("a:\n  b: 1\n", "f");
  EXPECT_EQ(place_of(root, "a.b").column, 6);
  EXPECT_EQ(place_of(root, "a.c").line, 2);
  EXPECT_EQ(place_of(root, "z").line, 1);
}

}  // namespace
}  // namespace stepcast
