#include "stepcast/base/schema.hpp"

#include <string>

#include "read_value.hpp"
#include "schema_values.hpp"

namespace stepcast {
namespace {

/// Collects the paths below one mapping.
class PathWriter {
 public:
  explicit PathWriter(bool lists) : lists_{lists} {}

  /// `pointer` leads to `mapping`; `path` is of its parent, with a dot behind it, and `in_list`
  /// says that it holds numbers of entries.
  void walk(const Json& mapping, const std::string& pointer, const std::string& path,
            bool in_list) {
    for (const auto& [key, value] : mapping["properties"].items()) {
      if (key == "extends") continue;
      std::string here = pointer;
      here += "/properties/" + key;
      add(path + key, here, in_list);
      if (value.contains("$comment")) continue;  // a plain value
      inside(value, here, path + key, in_list);
      const Json choices = value.value("anyOf", Json::array());
      for (std::size_t i = 0; i < choices.size(); ++i)
        inside(choices[i], here + "/anyOf/" + std::to_string(i), path + key, in_list);
    }
  }

  /// A number with a source may be set part by part.
  Json schema() const {
    Json patterns = patterns_;
    patterns[R"(\.(value|source|note)$)"] =
        lists_ ? Json{{"type", "array"}, {"minItems", 1}} : Json::object();
    return {{"type", "object"},
            {"properties", properties_},
            {"patternProperties", patterns},
            {"additionalProperties", false}};
  }

 private:
  void inside(const Json& value, const std::string& pointer, const std::string& path,
              bool in_list) {
    if (value.contains("properties")) walk(value, pointer, path + ".", in_list);
    if (value.contains("items") && value["items"].contains("properties"))
      walk(value["items"], pointer + "/items", path + ".[0-9]+.", true);
  }
  void add(const std::string& path, const std::string& pointer, bool in_list) {
    Json json{{"$ref", pointer}};
    if (lists_) json = {{"type", "array"}, {"minItems", 1}, {"items", json}};
    if (!in_list) {
      properties_[path] = std::move(json);
      return;
    }
    // Only dots have to be escaped; `[0-9]+` stands for the number of an entry.
    std::string pattern = "^";
    for (const char c : path) pattern += c == '.' ? std::string(R"(\.)") : std::string(1, c);
    patterns_[pattern + "$"] = std::move(json);
  }

  bool lists_;
  Json properties_ = Json::object(), patterns_ = Json::object();
};

/// The schema of a mapping from paths of keys to their values, or to lists of their values.
/// `mapping` is the schema of the mapping that the paths lead into; it stands below `$defs` as
/// `name`.
Json path_schemas(const Json& mapping, const std::string& name, bool lists) {
  PathWriter writer{lists};
  writer.walk(mapping, "#/$defs/" + name, "", false);
  return writer.schema();
}

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
  void list(std::string_view key, std::string_view doc, std::size_t, const Resize& resize,
            const Entry& body) override {
    Json json = items(resize, body);
    json["minItems"] = 1;
    add(key, doc, std::move(json));
  }
  void optional_list(std::string_view key, std::string_view doc, std::size_t, const Resize& resize,
                     const Entry& body) override {
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
  Json items(const Resize& resize, const Entry& body) {
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
