#pragma once
#include <string_view>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// What is written at `path` itself ("parallel.tp", "stalls.throttling.0.from"); it is null
/// where at most an ancestor is.
const Node* node_at(const Node& root, std::string_view path);

}  // namespace stepcast
