#include "schema_values.hpp"

#include <set>

#include "dimension.hpp"
#include "read_value.hpp"

namespace stepcast {
namespace {

const std::string shared_prefix = "#/$defs/", stated_prefix = "stated_";
const std::string number_pattern = R"(^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)";

Json with_limits(Json json, const Range& range) {
  // JSON has no infinity: a range that is open on one side names the other alone.
  if (range.low > -std::numeric_limits<double>::infinity()) {
    json[range.low_open ? "exclusiveMinimum" : "minimum"] = range.low;
  }
  if (range.high < std::numeric_limits<double>::infinity()) json["maximum"] = range.high;
  return json;
}

Json pattern(const std::string& text) { return {{"type", "string"}, {"pattern", text}}; }

Json any_of(const std::vector<Json>& parts) { return {{"anyOf", parts}}; }

/// An SI suffix makes a count a word for YAML.
Json count(const Range& range) {
  return any_of({with_limits({{"type", "integer"}}, range), reference("prefixed_count")});
}

Json list_of(Json items) {
  return {{"type", "array"}, {"minItems", 1}, {"items", std::move(items)}};
}

/// A number, or a mapping that also says where the number comes from.
Json with_source(const Json& value) {
  const Json mapping{
      {"allOf", Json::array({reference("stated"), Json{{"properties", {{"value", value}}}}})}};
  return any_of({value, mapping});
}

Json word_set_schema(const WordSet& set) {
  const Json words{
      {"type", "array"}, {"minItems", 1}, {"uniqueItems", true}, {"items", {{"enum", set.words}}}};
  return {{"type", "object"},
          {"properties", {{std::string(set.key), words}}},
          {"required", {set.key}},
          {"additionalProperties", false}};
}

/// The values of one key.
struct Values {
  const Field& field;

  template <int T, int B, int F>
  Json operator()(Quantity<T, B, F>*) const {
    return reference(std::string(Dimension<Quantity<T, B, F>>::name));
  }
  Json operator()(double*) const { return with_limits({{"type", "number"}}, field.range); }
  Json operator()(std::int64_t*) const { return count(field.range); }
  Json operator()(bool*) const { return {{"type", "boolean"}}; }
  Json operator()(std::string*) const { return {{"type", "string"}, {"minLength", 1}}; }
  Json operator()(const Identifier&) const { return pattern("^[a-z0-9._-]+$"); }
  Json operator()(const OptionalCount& t) const {
    return any_of({Json{{"const", std::string(t.word)}}, count(field.range)});
  }
  Json operator()(const OptionalNumber& t) const {
    return any_of(
        {Json{{"const", std::string(t.word)}}, with_limits({{"type", "number"}}, field.range)});
  }
  Json operator()(const OptionalTime& t) const {
    return any_of({Json{{"const", std::string(t.word)}}, (*this)(t.target)});
  }
  Json operator()(const PartsOf& t) const {
    return any_of({count(field.range), list_of(count(t.part)),
                   words_schema({{t.word, true, true}})["anyOf"][0]});
  }
  Json operator()(const Tolerance& t) const {
    switch (t.of) {
      case Tolerance::Of::time:
        return any_of({reference("percentage"), reference("time")});
      case Tolerance::Of::size:
        return any_of({reference("percentage"), reference("size")});
      case Tolerance::Of::number:
        break;
    }
    return any_of({reference("percentage"), Json{{"type", "number"}, {"minimum", 0}}});
  }
  Json operator()(std::vector<std::string>*) const {
    return {{"type", "array"}, {"items", {{"type", "string"}}}};
  }
  Json operator()(std::vector<std::int64_t>*) const { return list_of(count(field.range)); }
  Json operator()(const Choice& choice) const {
    if (choice.file != nullptr) {
      const Json file{{"type", "object"},
                      {"properties", {{"table", {{"type", "string"}, {"minLength", 1}}}}},
                      {"required", {"table"}},
                      {"additionalProperties", false}};
      return any_of({words_schema(choice.options), file});
    }
    std::vector<Json> forms{words_schema(choice.words())};
    if (choice.table != nullptr) {
      const Json row{{"type", "array"}, {"items", with_limits({{"type", "integer"}}, field.range)}};
      forms.push_back({{"type", "array"}, {"items", row}});
    }
    if (choice.set_of_words.chosen != nullptr)
      forms.push_back(word_set_schema(choice.set_of_words));
    return forms.size() == 1 ? forms.front() : any_of(forms);
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
  Json operator()(const Tolerance& t) const {
    return *t.relative ? Json(shortest(*t.target * 100) + "%") : Json(nullptr);
  }
  Json operator()(const std::vector<std::string>* target) const { return *target; }
  Json operator()(const std::vector<std::int64_t>*) const { return nullptr; }
  Json operator()(const Choice& choice) const {
    return std::string(choice.options[choice.get()].name);
  }
};

/// A list of `value`, and the word `search` where that is allowed, beside `value` itself.
Json with_several(Json value, Several several) {
  switch (several) {
    case Several::no:
      return value;
    case Several::listed:
      return any_of({value, list_of(value)});
    case Several::listed_or_searched:
      break;
  }
  return any_of({value, list_of(value), Json{{"const", "search"}}});
}

template <class Unit>
void add_quantity(Json& values) {
  const std::string name{Dimension<Unit>::name};
  const Json number = pattern(number_pattern + " ?" + std::string(Dimension<Unit>::pattern) + "$");
  values[name] = number;
  values[stated_prefix + name] = with_source(reference(name));
}

Json all_shared_values() {
  // Kept once under $defs, since hundreds of keys refer to them.
  Json values = Json::object();
  values["prefixed_count"] = pattern(number_pattern + "([MGTPE]|[KMGTPE]i)$");
  values["percentage"] = pattern(number_pattern + "%$");
  values["stated"] = {
      {"type", "object"},
      {"properties",
       {{"value", Json::object()},
        {"source", {{"enum", {"datasheet", "measured", "fitted", "derived", "assumed"}}}},
        {"note", {{"type", "string"}}}}},
      {"required", {"value", "source"}},
      {"additionalProperties", false}};
  add_quantity<Seconds>(values);
  add_quantity<Bytes>(values);
  add_quantity<BytesPerSecond>(values);
  add_quantity<FlopsPerSecond>(values);
  return values;
}

/// The name behind a reference, empty for anything else.
std::string name_in(const Json& json) {
  if (!json.is_object() || !json.contains("$ref")) return {};
  return json["$ref"].get<std::string>().substr(shared_prefix.size());
}

/// Adds the names that are referred to in `json`, each once.
void collect(const Json& json, const Json& all, std::set<std::string>& used) {
  const std::string name = name_in(json);
  if (all.contains(name) && used.insert(name).second) collect(all[name], all, used);
  for (const Json& inner : json)
    if (inner.is_structured()) collect(inner, all, used);
}

}  // namespace

Json reference(const std::string& name) { return {{"$ref", shared_prefix + name}}; }

Json words_schema(const std::vector<Option>& options) {
  Json plain = Json::array(), calls = Json::array();
  for (const Option& option : options) {
    if (!option.built) continue;
    const std::string name{option.name};
    if (option.takes_number) {
      calls.push_back(pattern("^" + name + R"(\([0-9]+([MGTPE]|[KMGTPE]i)?\)$)"));
    } else {
      plain.push_back(name);
    }
  }
  // One word or a call with a number: an enum where there are only words, because editors complete
  // those.
  if (calls.empty()) return {{"enum", plain}};
  if (!plain.empty()) calls.insert(calls.begin(), Json{{"enum", plain}});
  return {{"anyOf", calls}};
}

Json field_schema(const Field& field) {
  Json json = std::visit(Values{field}, field.target);
  if (may_state_source(field.target)) {
    // Shared values share their form with a source, too; others get one of their own.
    const std::string name = name_in(json);
    json = name.empty() ? with_source(json) : reference(stated_prefix + name);
  }
  json = with_several(std::move(json), field.several);
  if (field.or_mapping) json = any_of({json, Json{{"type", "object"}}});
  json["$comment"] = allowed_values(field);
  const Json standard = std::visit(Default{}, field.target);
  if (!field.required && !standard.is_null()) json["default"] = standard;
  json["description"] = std::string(field.doc) + (field.required ? " (required)" : "");
  return json;
}

Json shared_values(const Json& json) {
  const Json all = all_shared_values();
  std::set<std::string> used;
  collect(json, all, used);
  Json values = Json::object();
  for (const auto& [name, value] : all.items())
    if (used.contains(name)) values[name] = value;
  return values;
}

}  // namespace stepcast
