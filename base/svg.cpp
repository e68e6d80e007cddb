#include "stepcast/base/svg.hpp"

namespace stepcast {

/// For text between tags; quotes stay, so that attributes need more.
std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace stepcast
