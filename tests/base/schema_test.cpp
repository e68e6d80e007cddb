#include "stepcast/base/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "stepcast/base/document.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

json schema_of(const Visitor::Body& body) {
  return json::parse(json_schema({"urn:x:t", "t"}, body));
}

/// `value` with all that it refers to in its place.
json resolved(const json& schema, const json& value) {
  if (!value.is_structured()) return value;
  json whole = value.is_array() ? json::array() : json::object();
  if (value.contains("$ref"))
    whole =
        resolved(schema, schema.at(json::json_pointer(value["$ref"].get<std::string>().substr(1))));
  for (const auto& [key, inner] : value.items()) {
    if (value.is_array()) {
      whole.push_back(resolved(schema, inner));
    } else if (key != "$ref") {
      whole[key] = resolved(schema, inner);
    }
  }
  return whole;
}

TEST(Schema, IsAClosedMappingWithDefaults) {
  std::int64_t count = 3;
  const json schema = schema_of([&](Visitor& v) {
    v.field({"needed", &count, "must be", between(1, 9), true});
    v.field({"count", &count, "how many"});
  });
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["$id"], "urn:x:t");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["count"]["default"], 3);
  EXPECT_EQ(schema["properties"]["count"]["description"], "how many");
  EXPECT_FALSE(schema["properties"]["needed"].contains("default"));
  EXPECT_EQ(schema["anyOf"],
            json::parse(R"([{"required": ["extends"]}, {"required": ["needed"]}])"));
  EXPECT_EQ(schema["properties"]["extends"]["type"], "string");
}

TEST(Schema, NumbersWithADimensionAreTextWithAUnit) {
  BytesPerSecond bandwidth{1};
  const json schema = schema_of([&](Visitor& v) { v.field({"b", &bandwidth, ""}); });
  const json values = resolved(schema, schema["properties"]["b"])["anyOf"];
  const json& value = values[0];
  EXPECT_EQ(value["type"], "string");
  EXPECT_NE(value["pattern"].get<std::string>().find("bps"), std::string::npos);
  const json& origin = values[1]["allOf"];
  EXPECT_EQ(origin[0]["required"], json::parse(R"(["value", "source"])"));
  EXPECT_EQ(origin[1]["properties"]["value"], value);
}

TEST(Schema, SharedValuesStandOnceAndOnlyWhereTheyAreUsed) {
  Seconds one{1}, two{2};
  const json schema = schema_of([&](Visitor& v) {
    v.field({"one", &one, ""});
    v.field({"two", &two, ""});
  });
  EXPECT_EQ(schema["properties"]["one"]["$ref"], schema["properties"]["two"]["$ref"]);
  EXPECT_TRUE(schema["$defs"].contains("time"));
  EXPECT_FALSE(schema["$defs"].contains("size"));
}

TEST(Schema, AKeyMayTakeSeveralValues) {
  std::int64_t n = 1;
  const json schema = schema_of([&](Visitor& v) {
    v.field({"listed", &n, "", between(1, 9), false, Several::listed});
    v.field({"searched", &n, "", between(1, 9), false, Several::listed_or_searched});
  });
  const json& listed = schema["properties"]["listed"]["anyOf"];
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[1]["type"], "array");
  EXPECT_EQ(listed[1]["items"], listed[0]);
  const json& searched = schema["properties"]["searched"]["anyOf"];
  ASSERT_EQ(searched.size(), 3U);
  EXPECT_EQ(searched[2]["const"], "search");
}

TEST(Schema, PathsLeadToTheKeysThatTheyName) {
  std::int64_t n = 1;
  bool present = false;
  const Node* found = nullptr;
  const auto described = [&](Visitor& v) {
    v.field({"plain", &n, ""});
    v.optional_section("maybe", "", present, [&](Visitor& w) {
      w.list(
          "items", "", 1, [](std::size_t) {},
          [&](Visitor& x, std::size_t) {
            x.field({"n", &n, "", between(0, 9)});
          });
    });
  };
  const json schema = schema_of([&](Visitor& v) {
    v.paths("grid", "", {"thing", described, true, &found});
    v.paths("baseline", "", {"thing", described, false, &found});
  });
  const json grid = resolved(schema, schema["properties"]["grid"]);
  EXPECT_EQ(grid["properties"]["maybe"]["items"]["default"], "none");
  const json& number = grid.at("patternProperties").at("^maybe\\.items\\.[0-9]+\\.n$");
  const json& plain = number.at("items").at("anyOf").at(0);  // the other has a source, too
  EXPECT_EQ(plain.at("anyOf").at(0).at("maximum"), 9);
  const json baseline = resolved(schema, schema["properties"]["baseline"]);
  EXPECT_EQ(baseline["properties"]["plain"]["default"], 1);
  EXPECT_EQ(baseline["additionalProperties"], false);
}

TEST(Schema, ChoicesOfferWhatIsBuilt) {
  enum class E { a, b } e = E::a;
  std::int64_t number = 0;
  Choice choice_of = choice(e, {{"a"}, {"b", true, true}, {"c", false}});
  choice_of.number = &number;
  const json schema = schema_of([&](Visitor& v) { v.field({"e", choice_of, ""}); });
  const json& any = schema["properties"]["e"]["anyOf"];
  ASSERT_EQ(any.size(), 2U);
  EXPECT_EQ(any[0]["enum"], json::parse(R"(["a"])"));
  EXPECT_EQ(any[1]["pattern"].get<std::string>().substr(0, 4), "^b\\(");
}

const std::string number = R"(^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)";

json text(const std::string& pattern) { return {{"type", "string"}, {"pattern", pattern}}; }
json any(const json& a, const json& b) { return {{"anyOf", json::array({a, b})}}; }
/// A count between the limits, or with a suffix.
json count(double least, double most) {
  return any({{"type", "integer"}, {"minimum", least}, {"maximum", most}},
             text(number + "([MGTPE]|[KMGTPE]i)$"));
}

TEST(Schema, EveryTypeOfValueHasItsForm) {
  std::string word = "w";
  std::optional<std::int64_t> maybe;
  std::optional<double> maybe_number;
  double off = 0.02;
  Seconds time{2};
  bool given = false, called = false, relative = true;
  std::int64_t pieces = 3;
  std::vector<std::int64_t> parts, numbers;
  std::vector<std::string> words{"a", "b"};
  Table table;
  enum class E { a, b } e = E::a;
  Choice with_table = choice(e, {{"a"}, {"b"}});
  with_table.table = &table;
  with_table.table_option = 1;
  Choice with_file = choice(e, {{"a"}, {"b"}});
  with_file.file = &word;
  const json percent = text(number + "%$");
  const json plain{{"type", "number"}, {"minimum", 1}, {"maximum", 9}};
  const json row{{"type", "array"},
                 {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}};
  struct Case {
    Target target;
    json form, standard;
  };
  const std::vector<Case> cases{
      {&word, {{"type", "string"}, {"minLength", 1}}, nullptr},
      {Identifier{&word}, text("^[a-z0-9._-]+$"), nullptr},
      {OptionalCount{&maybe, "auto"}, any({{"const", "auto"}}, count(1, 9)), "auto"},
      {OptionalNumber{&maybe_number, "none"}, any({{"const", "none"}}, plain), "none"},
      {PartsOf{&pieces, &parts, "balanced", &called, between(2, 5)},
       {{"anyOf",
         {count(1, 9),
          {{"type", "array"}, {"minItems", 1}, {"items", count(2, 5)}},
          text(R"(^balanced\([0-9]+([MGTPE]|[KMGTPE]i)?\)$)")}}},
       3},
      {Tolerance{&off, &relative, Tolerance::Of::number},
       any(percent, {{"type", "number"}, {"minimum", 0}}), "2%"},
      {Tolerance{&off, &relative, Tolerance::Of::time},
       any(percent, text(number + " ?(ns|us|ms|s|min|h|d)$")), "2%"},
      {&words, {{"type", "array"}, {"items", {{"type", "string"}}}}, words},
      {&numbers, {{"type", "array"}, {"minItems", 1}, {"items", count(1, 9)}}, nullptr},
      {with_table, any({{"enum", {"a"}}}, {{"type", "array"}, {"items", row}}), "a"},
      {with_file,
       any({{"enum", {"a", "b"}}},
           {{"type", "object"},
            {"properties", {{"table", {{"type", "string"}, {"minLength", 1}}}}},
            {"required", {"table"}},
            {"additionalProperties", false}}),
       "a"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const json schema = schema_of([&](Visitor& v) {
      v.field({"key", cases[i].target, "", between(1, 9)});
    });
    json value = resolved(schema, schema["properties"]["key"]);
    EXPECT_EQ(value.contains("default") ? value["default"] : json(nullptr), cases[i].standard) << i;
    for (const char* apart : {"default", "$comment", "description"}) value.erase(apart);
    // A number of parts, or one that may be a word, may also be given with its source.
    const bool sourced = std::holds_alternative<PartsOf>(cases[i].target) ||
                         std::holds_alternative<OptionalNumber>(cases[i].target) ||
                         std::holds_alternative<OptionalTime>(cases[i].target);
    EXPECT_EQ(sourced ? value["anyOf"][0] : value, cases[i].form) << i;
  }
  const json optional = schema_of([&](Visitor& v) {
    v.field({"key", OptionalTime{&time, &given, "none"}, ""});
  })["properties"]["key"];
  EXPECT_EQ(optional["default"], "none");
}

TEST(Schema, AnOptionalListIsNoneOrAList) {
  std::vector<std::int64_t> numbers;
  const json schema = schema_of([&](Visitor& v) {
    v.optional_list(
        "items", "", 0, [](std::size_t) {},
        [&](Visitor& w, std::size_t) {
          w.field({"numbers", &numbers, "", between(0, 9), true});
        });
  });
  const json& items = schema["properties"]["items"];
  EXPECT_EQ(items["default"], "none");
  EXPECT_EQ(items["anyOf"][0]["const"], "none");
  EXPECT_FALSE(items["anyOf"][1].contains("minItems"));
  const json& list = items["anyOf"][1]["items"]["properties"]["numbers"];
  EXPECT_EQ(list["type"], "array");
  EXPECT_EQ(list["minItems"], 1);
  EXPECT_EQ(list["items"]["anyOf"][0]["maximum"], 9);
}

TEST(Schema, AListHasEntries) {
  std::int64_t n = 0;
  const json properties = schema_of([&](Visitor& v) {
    v.list(
        "items", "", 0, [](std::size_t) {},
        [&](Visitor& w, std::size_t) {
          w.field({"n", &n, ""});
        });
  })["properties"];
  EXPECT_EQ(properties["items"]["minItems"], 1);
}

TEST(Schema, AKindRefusesTheKeysOfOthers) {
  std::int64_t n = 0;
  std::size_t kind = 0;
  const json schema = schema_of([&](Visitor& v) {
    v.alternatives("kind", "", kind,
                   {{"a",
                     [&](Visitor& w) {
                       w.field({"x", &n, ""});
                     }},
                    {"b", [&](Visitor& w) {
                       w.field({"y", &n, ""});
                     }}});
  });
  EXPECT_EQ(schema["properties"]["kind"]["enum"], json::parse(R"(["a", "b"])"));
  EXPECT_EQ(schema["allOf"][0]["if"]["properties"]["kind"]["const"], "a");
  EXPECT_EQ(schema["allOf"][0]["then"]["properties"], json::parse(R"({"y": false})"));
}

}  // namespace
}  // namespace stepcast
