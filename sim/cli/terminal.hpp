#pragma once
#include <cstddef>

namespace stepcast::cli {

/// The columns of stdout where it is a terminal, at least 80; otherwise 100, so that a file does
/// not depend on the window in which it was written.
std::size_t terminal_width();

/// The same for tables of which a file should lose nothing: 0, any length, where stdout is no
/// terminal.
std::size_t lines_width();

}  // namespace stepcast::cli
