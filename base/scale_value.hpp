#pragma once
#include <string>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// Multiplies the number that stands at `path`, with its unit, by `factor` (`*=1.2` of a `--set`).
/// Throws InputError at `place`: no number above 0, or nothing that stands there with one.
void scale_value(Node& root, const std::string& path, const std::string& factor,
                 const Place& place);

}  // namespace stepcast
