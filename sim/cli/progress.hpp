#pragma once
#include <chrono>
#include <cstddef>
#include <string>

namespace stepcast::cli {

/// What happens while many points are simulated, on stderr: a bar with rate and time left on a
/// terminal, otherwise one line per point; nothing with --quiet.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more is done; `line` says what came out.
  void step(std::size_t done, std::size_t of, const std::string& line);

 private:
  std::chrono::steady_clock::time_point begin_, shown_;
  bool terminal_, quiet_, drawn_ = false;
};

}  // namespace stepcast::cli
