#pragma once
#include <functional>
#include <string>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// This is the JSON Schema (draft 2020-12) of the mapping that `body` describes, indented by two
/// spaces. Every mapping also accepts `extends`; a key that is required may then come from what it
/// extends.
std::string json_schema(const std::string& title, const Visitor::Body& body);

}  // namespace stepcast
