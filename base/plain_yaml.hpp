#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// Parses what most files are made of: block mappings and lists, plain and quoted words, and flow
/// lists and mappings, of one line each. Nothing where a text has anything else, or is wrong: that
/// is for the library to read, or to explain. A tree is the one that the library makes, places
/// included.
std::optional<Node> parse_plain(std::string_view text, const std::string& name);

/// parse_document() by the library alone.
Node parse_by_library(std::string_view text, const std::string& name);

}  // namespace stepcast
