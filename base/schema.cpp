#include "stepcast/base/schema.hpp"

#include <nlohmann/json.hpp>

#include "dimension.hpp"
#include "read_value.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view number_pattern = R"(^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)";

Json with_limits(Json json, const Range& range) {
  if (range.low > -std::numeric_limits<double>::infinity()) {
    json[range.low_open ? "exclusiveMinimum" : "minimum"] = range.low;
  }
  if (range.high < std::numeric_limits<double>::infinity()) json["maximum"] = range.high;
  return json;
}

Json pattern(const std::string& text) { return {{"type", "string"}, {"pattern", text}}; }

Json words(const std::vector<Option>& options) {
  Json plain = Json::array(), calls = Json::array();
  for (const Option& option : options) {
    if (!option.built) continue;
    const std::string name{option.name};
    if (option.takes_number) {
      calls.push_back(pattern("^" + name + R"(\([0-9]+([kKMGTPE]|[KMGTPE]i)?\)$)"));
    } else {
      plain.push_back(name);
    }
  }
  if (calls.empty()) return {{"enum", plain}};
  if (!plain.empty()) calls.insert(calls.begin(), Json{{"enum", plain}});
  return {{"anyOf", calls}};
}

Json count(const Range& range) {
  // An SI suffix makes a count a word for YAML.
  return {
      {"anyOf", Json::array({with_limits({{"type", "integer"}}, range),
                             pattern(std::string(number_pattern) + "([kKMGTPE]|[KMGTPE]i)$")})}};
}

/// The values of one key.
struct Values {
  const Field& field;

  template <int T, int B, int F>
  Json operator()(Quantity<T, B, F>*) const {
    using Unit = Dimension<Quantity<T, B, F>>;
    return pattern(std::string(number_pattern) + " ?" + std::string(Unit::pattern) + "$");
  }
  Json operator()(double*) const { return with_limits({{"type", "number"}}, field.range); }
  Json operator()(std::int64_t*) const { return count(field.range); }
  Json operator()(bool*) const { return {{"type", "boolean"}}; }
  Json operator()(std::string*) const { return {{"type", "string"}, {"minLength", 1}}; }
  Json operator()(const Identifier&) const { return pattern("^[a-z0-9._-]+$"); }
  Json operator()(const OptionalCount& t) const {
    return {{"anyOf", Json::array({Json{{"const", std::string(t.word)}}, count(field.range)})}};
  }
  Json operator()(const OptionalNumber& t) const {
    return {{"anyOf", Json::array({Json{{"const", std::string(t.word)}},
                                   with_limits({{"type", "number"}}, field.range)})}};
  }
  Json operator()(const OptionalTime& t) const {
    return {{"anyOf", Json::array({Json{{"const", std::string(t.word)}}, (*this)(t.target)})}};
  }
  Json operator()(const PartsOf& t) const {
    const Json list{{"type", "array"}, {"minItems", 1}, {"items", count(t.part)}};
    return {{"anyOf",
             Json::array({count(field.range), list, words({{t.word, true, true}})["anyOf"][0]})}};
  }
  Json operator()(const Percent&) const { return pattern(std::string(number_pattern) + "%$"); }
  Json operator()(const Tolerance& t) const {
    const Json percent = pattern(std::string(number_pattern) + "%$");
    const auto or_with = [&](std::string_view unit) {
      return Json{{"anyOf", Json::array({percent, pattern(std::string(number_pattern) + " ?" +
                                                          std::string(unit) + "$")})}};
    };
    if (t.of == Tolerance::Of::time) return or_with(Dimension<Seconds>::pattern);
    if (t.of == Tolerance::Of::size) return or_with(Dimension<Bytes>::pattern);
    return {{"anyOf", Json::array({percent, Json{{"type", "number"}, {"minimum", 0}}})}};
  }
  Json operator()(std::vector<std::string>*) const {
    return {{"type", "array"}, {"items", {{"type", "string"}}}};
  }
  Json operator()(std::vector<std::int64_t>*) const {
    return {{"type", "array"}, {"minItems", 1}, {"items", count(field.range)}};
  }
  Json operator()(const Choice& choice) const {
    if (choice.file != nullptr) {
      const Json file{{"type", "object"},
                      {"properties", {{"table", {{"type", "string"}, {"minLength", 1}}}}},
                      {"required", {"table"}},
                      {"additionalProperties", false}};
      return {{"anyOf", Json::array({words(choice.options), file})}};
    }
    if (choice.table == nullptr) return words(choice.options);
    std::vector<Option> options = choice.options;
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(choice.table_option));
    const Json row{{"type", "array"}, {"items", with_limits({{"type", "integer"}}, field.range)}};
    return {{"anyOf", Json::array({words(options), Json{{"type", "array"}, {"items", row}}})}};
  }
};

/// The value that a key has when it is left out.
struct Default {
  template <int T, int B, int F>
  Json operator()(const Quantity<T, B, F>* target) const {
    return shortest(target->value()) + std::string(Dimension<Quantity<T, B, F>>::unit);
  }
  Json operator()(const double* target) const { return *target; }
  Json operator()(const std::int64_t* target) const { return *target; }
  Json operator()(const bool* target) const { return *target; }
  Json operator()(const std::string*) const { return nullptr; }
  Json operator()(const Identifier&) const { return nullptr; }
  Json operator()(const OptionalCount& t) const { return std::string(t.word); }
  Json operator()(const OptionalNumber& t) const { return std::string(t.word); }
  Json operator()(const OptionalTime& t) const { return std::string(t.word); }
  Json operator()(const PartsOf& t) const { return *t.count; }
  Json operator()(const Percent& t) const { return shortest(*t.target * 100) + "%"; }
  Json operator()(const Tolerance& t) const {
    return *t.relative ? Json(shortest(*t.target * 100) + "%") : Json(nullptr);
  }
  Json operator()(const std::vector<std::string>* target) const { return *target; }
  Json operator()(const std::vector<std::int64_t>*) const { return nullptr; }
  Json operator()(const Choice& choice) const {
    return std::string(choice.options[choice.get()].name);
  }
};

Json with_source(const Json& value) {
  Json properties{{"value", value}};
  properties["source"] = {{"enum", {"datasheet", "measured", "fitted", "derived", "assumed"}}};
  properties["note"] = {{"type", "string"}};
  return {{"anyOf", Json::array({value, Json{{"type", "object"},
                                             {"properties", properties},
                                             {"required", {"value", "source"}},
                                             {"additionalProperties", false}}})}};
}

/// Collects one mapping.
class SchemaWriter : public Visitor {
 public:
  void field(const Field& field) override {
    Json json = std::visit(Values{field}, field.target);
    if (may_state_source(field.target)) json = with_source(json);
    json["$comment"] = allowed_values(field);
    const Json standard = std::visit(Default{}, field.target);
    if (!field.required && !standard.is_null()) json["default"] = standard;
    add(field.key, std::string(field.doc) + (field.required ? " (required)" : ""), std::move(json));
    if (field.required) required_.emplace_back(field.key);
  }
  void section(std::string_view key, std::string_view doc, const Body& body) override {
    add(key, doc, mapping(body));
  }
  void optional_section(std::string_view key, std::string_view doc, bool&,
                        const Body& body) override {
    add(key, doc,
        {{"anyOf", Json::array({Json{{"const", "none"}}, mapping(body)})}, {"default", "none"}});
  }
  void alternatives(std::string_view key, std::string_view doc, std::size_t& current,
                    const std::vector<Alternative>& bodies) override {
    Json names = Json::array();
    std::vector<Option> words;
    std::vector<SchemaWriter> parts;
    const std::size_t standard = current;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (!bodies[i].built) continue;
      current = i;
      names.push_back(std::string(bodies[i].name));
      words.push_back({bodies[i].name});
      bodies[i].body(parts.emplace_back());
    }
    add(key, doc,
        {{"enum", names}, {"$comment", built_options(words)}, {"default", names[standard]}});
    for (const SchemaWriter& part : parts) adopt(part);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Json test{{"properties", {{std::string(key), {{"const", names[i]}}}}},
                      {"required", Json::array({std::string(key)})}};
      exclude(test, parts[i], parts);
    }
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    std::vector<SchemaWriter> parts(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      current = i;
      bodies[i].body(parts[i]);
    }
    for (const SchemaWriter& part : parts) adopt(part);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      exclude({{"required", Json::array({std::string(bodies[i].name)})}}, parts[i], parts);
    }
  }
  void list(std::string_view key, std::string_view doc, std::size_t,
            const std::function<void(std::size_t)>& resize,
            const std::function<void(Visitor&, std::size_t)>& body) override {
    Json json = items(resize, body);
    json["minItems"] = 1;
    add(key, doc, std::move(json));
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t,
                     const std::function<void(std::size_t)>& resize,
                     const std::function<void(Visitor&, std::size_t)>& body) override {
    add(key, doc,
        {{"anyOf", Json::array({Json{{"const", "none"}}, items(resize, body)})},
         {"default", "none"}});
  }
  void reserved(std::string_view key, std::string_view doc, std::string_view neutral) override {
    const Json word = neutral == "1" ? Json(1) : Json(std::string(neutral));
    add(key, std::string(doc) + " (not built yet)",
        {{"const", word}, {"default", word}, {"$comment", std::string(neutral)}});
  }

  Json object() const {
    Json json{{"type", "object"}, {"properties", properties_}, {"additionalProperties", false}};
    json["properties"]["extends"] = {
        {"type", "string"},
        {"description", "a file whose keys hold unless this mapping gives them"}};
    if (!rules_.empty()) json["allOf"] = rules_;
    return json;
  }
  const std::vector<std::string>& required() const { return required_; }

 private:
  /// A list of mappings like its first one.
  static Json items(const std::function<void(std::size_t)>& resize,
                    const std::function<void(Visitor&, std::size_t)>& body) {
    resize(1);
    return {{"type", "array"}, {"items", mapping([&](Visitor& v) { body(v, 0); })}};
  }
  static Json mapping(const Body& body) {
    SchemaWriter inner;
    body(inner);
    return inner.object();
  }
  void add(std::string_view key, std::string_view doc, Json json) {
    json["description"] = std::string(doc);
    properties_[std::string(key)] = std::move(json);
  }
  void adopt(const SchemaWriter& part) {
    for (const auto& [key, value] : part.properties_.items()) {
      if (!properties_.contains(key)) properties_[key] = value;
    }
    rules_.insert(rules_.end(), part.rules_.begin(), part.rules_.end());
  }
  /// Where `test` holds, no key may stand that only other alternatives have.
  void exclude(const Json& test, const SchemaWriter& chosen,
               const std::vector<SchemaWriter>& parts) {
    Json foreign = Json::object();
    for (const SchemaWriter& part : parts) {
      for (const auto& [key, value] : part.properties_.items()) {
        if (!chosen.properties_.contains(key)) foreign[key] = false;
      }
    }
    if (!foreign.empty()) rules_.push_back({{"if", test}, {"then", {{"properties", foreign}}}});
  }

  Json properties_ = Json::object();
  Json rules_ = Json::array();
  std::vector<std::string> required_;
};

}  // namespace

std::string json_schema(const std::string& title, const Visitor::Body& body) {
  SchemaWriter writer;
  body(writer);
  Json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  json.update(writer.object());
  if (!writer.required().empty()) {
    json["anyOf"] =
        Json::array({Json{{"required", {"extends"}}}, Json{{"required", writer.required()}}});
  }
  return json.dump(2) + "\n";
}

}  // namespace stepcast
