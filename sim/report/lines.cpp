#include "stepcast/sim/report/lines.hpp"

#include <algorithm>
#include <string_view>

namespace stepcast {
namespace {

/// The byte behind an escape code that begins at `at`, or `at` itself.
std::size_t behind_escape(std::string_view line, std::size_t at) {
  if (line[at] != '\x1b') return at;
  return std::min(line.find('m', at), line.size() - 1) + 1;
}

/// Where a line that is too wide breaks, and where its rest begins below.
struct Break {
  std::size_t at = std::string_view::npos;
  std::size_t indent = 0;
};

Break break_of(std::string_view line, std::size_t width) {
  Break found;
  std::size_t column = 0, blanks = 2, indent = 0;
  bool begun = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (const std::size_t end = behind_escape(line, i); end != i) {
      i = end - 1;
      continue;
    }
    // Two blanks part columns: what is broken off goes on below the last one.
    if (line[i] != ' ') {
      if (blanks >= 2) indent = column;
      blanks = 0;
      begun = true;
    } else if (blanks++ == 0 && begun) {
      found = {i, indent};
    }
    // Further bytes of a character take no column.
    const bool further = (static_cast<unsigned char>(line[i]) & 0xC0U) == 0x80;
    if (!further && ++column > width && line[i] != ' ') return found;
  }
  return {};
}

void fold(std::string line, std::size_t width, std::string& out) {
  for (;;) {
    const Break found = break_of(line, width);
    if (found.at == std::string_view::npos) break;
    // a last column far to the right leaves no room for what is broken
    const std::size_t indent = found.indent > width / 2 ? 4 : found.indent;
    const std::size_t rest = line.find_first_not_of(' ', found.at);
    // A single word is wider than the line: nothing is gained.
    if (rest <= indent) break;
    out += line.substr(0, found.at) + "\n";
    line = std::string(indent, ' ') + line.substr(rest);
  }
  out += line;
}

}  // namespace

std::string folded(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    fold(text.substr(at, end - at), width, out);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace stepcast
