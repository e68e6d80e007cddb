#pragma once
#include <string>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// A merged document as YAML, a line for each key of `root`: of a mapping that starts from a preset
/// the preset's name and what was written beside it. Files that are named relative to where they
/// were written are named relative to `directory`.
std::string written_document(const Node& root, const std::string& directory);

}  // namespace stepcast
