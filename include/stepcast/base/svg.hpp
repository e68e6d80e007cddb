#pragma once
#include <string>
#include <string_view>

namespace stepcast {

/// Text as HTML and SVG take it between tags: `<`, `>` and `&` as entities.
std::string escaped(std::string_view text);

}  // namespace stepcast
