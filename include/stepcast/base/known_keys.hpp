#pragma once
#include <string>
#include <string_view>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// Says what is wrong with giving `value` to the key at `path` (`parallel.tp`,
/// `stalls.throttling.0.from`) of what `body` describes: that no alternative knows the key, or that
/// none takes the value. It is empty when all is well. What stands inside a mapping, and what keys
/// mean together, is not judged. It writes to the targets of `body`, so describe a draft that is
/// thrown away.
std::string wrong_assignment(const Visitor::Body& body, std::string_view path, const Node& value);

}  // namespace stepcast
