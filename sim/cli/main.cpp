#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <new>

#include "command_line.hpp"

/// SimGrid visits coupled links recursively: the stack of a job of 10^5 ranks is deeper than usual.
static void allow_deep_stack() {
  constexpr rlim_t wanted = rlim_t{1} << 30U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

int main(int argc, char** argv) {
  // Parsers of scripts and documents recurse, and a deep document must end in a message.
  allow_deep_stack();
  try {
    return stepcast::cli::CommandLine(argc > 1 ? argv[1] : "").main(argc, argv);
  } catch (const stepcast::InputError& error) {
    std::cerr << error.what() << "\n";
    return stepcast::cli::bad_input;
  } catch (const stepcast::EngineError& error) {
    std::cerr << "engine: " << error.what() << "\n";
  } catch (const std::bad_alloc&) {
    // Without a text of its own: formatting one would need memory again.
    std::cerr << "the command needs more memory than there is\n";
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
  }
  return stepcast::cli::internal_error;
}
