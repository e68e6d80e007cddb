#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace stepcast {

/// What one call of a job answered in its process.
struct WorkerAnswer {
  std::size_t index = 0;
  std::string text;        ///< what the job returned; any bytes
  std::string failure;     ///< why there is no text: what it threw, or how its process ended
  bool bad_input = false;  ///< it threw an InputError
  bool failed() const { return !failure.empty(); }
};

/// Throws what ended the job, with its class: InputError, or EngineError with `what` before it.
[[noreturn]] void throw_failure(const std::string& what, const WorkerAnswer& answer);

/// Calls `job(i)` for i = 0 .. count-1 in processes of their own, at most `workers` >= 1 at a time,
/// begun in order of i. A process takes one job after the other, so that an answer may depend on
/// nothing but i and what the caller had in memory before; what SimGrid shared flows for, or what
/// ended its process, has had a process to itself or the last place in one. `done` runs in the
/// calling process, in the order in which the jobs end. What `job` changes in memory is lost to the
/// caller. Where descriptors or processes are short, fewer run at a time. When `done` throws, the
/// jobs under way are stopped and the exception goes on. Throws EngineError when no process can be
/// started.
void run_in_workers(std::size_t count, int workers,
                    const std::function<std::string(std::size_t)>& job,
                    const std::function<void(const WorkerAnswer&)>& done);

/// While it lives, `told(done, of)` is called after each job of every run_in_workers of this
/// process has been received, and once with 0 before the first. Jobs, which have processes of their
/// own, do not tell. One at a time.
class WorkerWatch {
 public:
  using Told = std::function<void(std::size_t done, std::size_t of)>;
  explicit WorkerWatch(Told told);
  ~WorkerWatch();
  WorkerWatch(const WorkerWatch&) = delete;
  WorkerWatch& operator=(const WorkerWatch&) = delete;
};

/// So many processors may this process use, at least 1: the default of `-j`.
int usable_processors();

}  // namespace stepcast
