#pragma once
#include <string>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// As YAML has it in single quotes, where a quote is doubled.
std::string in_single_quotes(const std::string& text);
/// A merged document as YAML, a line for each key of `root`: of a mapping that starts from a preset
/// the preset's name and what was written beside it. Files that are named relative to where they
/// were written are named relative to `directory`.
std::string written_document(const Node& root, const std::string& directory);

}  // namespace stepcast
