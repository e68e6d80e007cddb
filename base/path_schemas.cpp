#include "path_schemas.hpp"

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
      const std::string here = pointer + "/properties/" + key;
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

}  // namespace

Json path_schemas(const Json& mapping, const std::string& name, bool lists) {
  PathWriter writer{lists};
  writer.walk(mapping, "#/$defs/" + name, "", false);
  return writer.schema();
}

}  // namespace stepcast
