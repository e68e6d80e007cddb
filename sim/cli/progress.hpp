#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "stepcast/base/long_work.hpp"
#include "stepcast/sim/engine/workers.hpp"

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

/// The same for a command that runs many jobs in phases: a bar per phase on a terminal; with
/// --verbose and no terminal a line at most every second; otherwise nothing. It watches while it
/// lives.
class PhaseProgress {
 public:
  explicit PhaseProgress(std::string command);

 private:
  void told(std::size_t done, std::size_t of);

  std::string command_;
  std::size_t phase_ = 0;
  std::unique_ptr<Progress> bar_;
  std::chrono::steady_clock::time_point begin_, logged_;
  WorkerWatch watch_;
};

/// What a command prints of one run that takes longer than 10 s, on stderr: before it begins how
/// long and how much memory, and how far it is: a bar on a terminal, otherwise a line every 10 s.
/// It watches while it lives.
class WorkProgress {
 public:
  /// `quiet`: nothing is printed.
  explicit WorkProgress(bool quiet);

 private:
  void expected(const LongWork& work);
  void told(double share);
  void announce(double seconds);

  bool quiet_;
  LongWork work_;
  bool announced_ = false;
  std::unique_ptr<Progress> bar_;
  std::chrono::steady_clock::time_point begin_, logged_;
  WorkWatch watch_;
};

/// From now on an interruption (Ctrl-C, a request to end) clears what is drawn, says so and removes
/// what was not written wholly; then the process ends by the signal.
void end_cleanly();

}  // namespace stepcast::cli
