#pragma once
#include <cstddef>
#include <string>

namespace stepcast {

/// Lines that are wider than `width` columns (at least 40) are broken at blanks, and go on below
/// the last of their own columns, which two blanks set apart. Escape codes of colours and the
/// further bytes of a character take no column; a word that is wider stays whole. 0: as it is.
std::string folded(const std::string& text, std::size_t width);

}  // namespace stepcast
