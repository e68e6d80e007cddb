#include "stepcast/base/schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stepcast {
namespace {

using nlohmann::json;

json schema_of(const Visitor::Body& body) { return json::parse(json_schema("t", body)); }

TEST(Schema, IsAClosedMappingWithDefaults) {
  std::int64_t count = 3;
  const json schema = schema_of([&](Visitor& v) {
    v.field({"needed", &count, "must be", between(1, 9), true});
    v.field({"count", &count, "how many"});
  });
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
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
  const json& value = schema["properties"]["b"]["anyOf"][0];
  EXPECT_EQ(value["type"], "string");
  EXPECT_NE(value["pattern"].get<std::string>().find("bps"), std::string::npos);
  const json& origin = schema["properties"]["b"]["anyOf"][1];
  EXPECT_EQ(origin["required"], json::parse(R"(["value", "source"])"));
  EXPECT_EQ(origin["properties"]["value"], value);
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
