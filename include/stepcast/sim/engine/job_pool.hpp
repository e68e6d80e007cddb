#pragma once
#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepcast/sim/engine/workers.hpp"

namespace stepcast {

/// These hold for the process of one job, and for what it starts.
struct JobLimits {
  std::uint64_t memory_bytes = 0;  ///< address space; 0: no limit. A sanitized build ignores it.
  int nice = 0;                    ///< added to the priority of the calling process
};

/// Jobs under way, a process each: a process makes at most one run in which SimGrid shares flows,
/// and loads SimGrid itself where it does. The pool is of one thread. A job ends with the thread
/// that started it, and with the pool.
class JobPool {
 public:
  JobPool() = default;
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  ~JobPool();

  std::size_t size() const { return jobs_.size(); }

  /// Starts `job` in a process of its own; `index` names it and is not under way. Throws
  /// EngineError when no process can be started.
  void start(std::size_t index, const std::function<std::string()>& job,
             const JobLimits& limits = {});
  /// Ends a job and all that it started; it gives no answer. False: it is not under way.
  bool cancel(std::size_t index);
  /// Waits until a job ends, one of `others` is ready, or `timeout_ms` are over (-1: never); sets
  /// what happened in `others` and gives the answers that are complete, by index.
  std::vector<WorkerAnswer> wait(std::vector<pollfd>& others, int timeout_ms);

 private:
  /// One job: its process and the end of the pipe that its answer comes through.
  struct Job {
    std::size_t index = 0;
    pid_t process = 0;
    int channel = -1;
    std::string text;
  };
  static bool read_more(Job& job);
  static int reap(const Job& job);
  static void end(const Job& job);

  std::vector<Job> jobs_;
};

}  // namespace stepcast
