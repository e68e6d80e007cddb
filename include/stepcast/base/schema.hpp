#pragma once
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// A head is what a schema says of itself.
struct SchemaHead {
  std::string id;                          ///< `$id`, an absolute URI
  std::string title;                       ///< for people
  std::vector<std::string> required = {};  ///< keys besides those that the description requires
};

/// The JSON Schema (draft 2020-12) of the mapping that `body` describes, indented by two
/// spaces. Every mapping also accepts `extends`; a key that is required may then come from what it
/// extends.
std::string json_schema(const SchemaHead& head, const Visitor::Body& body);

}  // namespace stepcast
