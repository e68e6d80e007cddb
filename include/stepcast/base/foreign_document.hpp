#pragma once
#include <string>
#include <string_view>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// Parses a YAML or JSON document that another program wrote: anchors and aliases are expanded, to
/// at most 2^18 values in all, tags do not count, and the last of repeated keys counts.
/// Throws InputError: syntax, an alias without its anchor, expansion beyond that.
Node parse_foreign_document(std::string_view text, const std::string& name);

}  // namespace stepcast
