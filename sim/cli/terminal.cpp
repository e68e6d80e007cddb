#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "commands.hpp"

namespace stepcast::cli {

std::size_t terminal_width() {
  constexpr std::size_t least = 80, of_a_file = 100;
  winsize size{};
  // Files and pipes have no width of their own.
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return of_a_file;
  return std::max<std::size_t>(size.ws_col, least);
}

std::size_t lines_width() { return isatty(STDOUT_FILENO) == 1 ? terminal_width() : 0; }

}  // namespace stepcast::cli
