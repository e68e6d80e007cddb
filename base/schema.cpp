#include "stepcast/base/schema.hpp"

#include "path_schemas.hpp"
#include "read_value.hpp"
#include "schema_values.hpp"

namespace stepcast {
namespace {

/// Collects one mapping.
class SchemaWriter : public Visitor {
 public:
  /// `shared` takes what is referred to by name.
  explicit SchemaWriter(Json& shared) : shared_{shared} {}

  void field(const Field& field) override {
    properties_[std::string(field.key)] = field_schema(field);
    if (field.required) required_.emplace_back(field.key);
  }
  void section(std::string_view key, std::string_view doc, const Body& body) override {
    add(key, doc, mapping(body));
  }
  void section_or(std::string_view key, std::string_view doc, std::string_view word, bool&,
                  const Body& body) override {
    add(key, doc,
        {{"anyOf", Json::array({Json{{"const", word}}, mapping(body)})}, {"default", word}});
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
      bodies[i].body(parts.emplace_back(shared_));
    }
    add(key, doc,
        {{"enum", names}, {"$comment", built_options(words)}, {"default", names[standard]}});
    // All keys are known; rules exclude those that only other alternatives have.
    for (const SchemaWriter& part : parts) adopt(part);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Json test{{"properties", {{std::string(key), {{"const", names[i]}}}}},
                      {"required", Json::array({std::string(key)})}};
      exclude(test, parts[i], parts);
    }
  }
  void one_of(std::size_t& current, const std::vector<Alternative>& bodies) override {
    std::vector<SchemaWriter> parts;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      current = i;
      bodies[i].body(parts.emplace_back(shared_));
    }
    for (const SchemaWriter& part : parts) adopt(part);
    std::vector<SchemaWriter> apart;  // what does not go together
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (!bodies[i].with_others) apart.push_back(parts[i]);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (bodies[i].with_others) continue;
      exclude({{"required", Json::array({std::string(bodies[i].name)})}}, parts[i], apart);
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
  void paths(std::string_view key, std::string_view doc, const PathMap& map) override {
    if (map.open) return add(key, doc, {{"type", "object"}});
    const std::string of{map.of};
    // Described once, whatever mappings have such paths.
    if (!shared_.contains(of)) shared_[of] = mapping(map.described);
    const std::string name = of + (map.lists ? "_lists" : "_values");
    if (!shared_.contains(name)) shared_[name] = path_schemas(shared_[of], of, map.lists);
    add(key, doc, reference(name));
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
  Json items(const std::function<void(std::size_t)>& resize,
             const std::function<void(Visitor&, std::size_t)>& body) {
    resize(1);
    return {{"type", "array"}, {"items", mapping([&](Visitor& v) { body(v, 0); })}};
  }
  Json mapping(const Body& body) {
    SchemaWriter inner{shared_};
    body(inner);
    return inner.object();
  }
  void add(std::string_view key, std::string_view doc, Json json) {
    json["description"] = std::string(doc);
    properties_[std::string(key)] = std::move(json);
  }
  void adopt(const SchemaWriter& part) {
    for (const auto& [key, value] : part.properties_.items()) {
      // The first of several alternatives describes a key that they share.
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

  Json& shared_;
  Json properties_ = Json::object();
  Json rules_ = Json::array();
  std::vector<std::string> required_;
};

}  // namespace

std::string json_schema(const SchemaHead& head, const Visitor::Body& body) {
  Json shared = Json::object();
  SchemaWriter writer{shared};
  body(writer);
  Json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"$id", head.id},
            {"title", head.title}};
  json.update(writer.object());
  std::vector<std::string> required = writer.required();
  required.insert(required.end(), head.required.begin(), head.required.end());
  // A file that extends another one need not repeat what is required.
  if (!required.empty()) {
    json["anyOf"] = Json::array({Json{{"required", {"extends"}}}, Json{{"required", required}}});
  }
  const Json values = shared_values(Json::array({json, shared}));
  shared.update(values);
  if (!shared.empty()) json["$defs"] = shared;
  return json.dump(2) + "\n";
}

}  // namespace stepcast
