#pragma once
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

namespace stepcast::fuzz {

/// Sanitized builds take about four times as long.
#ifdef __SANITIZE_ADDRESS__
inline constexpr unsigned patience_s = 40;
#else
inline constexpr unsigned patience_s = 10;
#endif

/// Says on stderr which case was under way when the process died, or took longer than that. Cases
/// follow one another; one at a time.
class Watch {
 public:
  Watch() {
    for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, died);
  }
  ~Watch() { alarm(0); }
  void begin(const std::string& name) {
    name.copy(current(), longest - 1);
    current()[std::min(name.size(), longest - 1)] = '\0';
    alarm(patience_s);
  }

 private:
  static constexpr std::size_t longest = 512;
  static char* current() {
    static char name[longest];
    return name;
  }
  static void died(int signal) {
    const char* what = signal == SIGALRM ? "\ntoo slow: " : "\ndied at: ";
    static_cast<void>(!write(STDERR_FILENO, what, std::strlen(what)));
    static_cast<void>(!write(STDERR_FILENO, current(), std::strlen(current())));
    static_cast<void>(!write(STDERR_FILENO, "\n", 1));
    _exit(1);
  }
};

}  // namespace stepcast::fuzz
