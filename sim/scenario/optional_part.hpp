#pragma once
#include <optional>
#include <string_view>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// An optional mapping: `body` describes it, and it is there when the file gives it.
template <class Part, class Body>
void optional_part(Visitor& visitor, std::string_view key, std::string_view doc,
                   std::optional<Part>& part, const Body& body) {
  bool present = part.has_value();
  visitor.optional_section(key, doc, present, [&](Visitor& v) {
    if (!part) part.emplace(Part{});
    body(v, *part);
  });
  if (!present) part.reset();
}

}  // namespace stepcast
