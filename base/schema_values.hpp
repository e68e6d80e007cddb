#pragma once
#include <nlohmann/json.hpp>

#include "stepcast/base/describe.hpp"

/// The JSON Schemas of single values. What many keys share stands once, below `$defs` of
/// the schema.
namespace stepcast {

using Json = nlohmann::ordered_json;

/// `{"$ref": "#/$defs/NAME"}`.
Json reference(const std::string& name);

/// Says what a field accepts, its default, and what it means.
Json field_schema(const Field& field);

/// Accepts one of some words.
Json words_schema(const std::vector<Option>& options);

/// The shared values that `json` refers to, directly or through one another, by name.
Json shared_values(const Json& json);

}  // namespace stepcast
