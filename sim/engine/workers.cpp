#include "stepcast/sim/engine/workers.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "stepcast/sim/engine/job_pool.hpp"

namespace stepcast {
namespace {

/// Who is told of jobs, and the process that is.
struct Watcher {
  WorkerWatch::Told told;
  pid_t process = 0;

  void tell(std::size_t done, std::size_t of) const {
    if (told && process == getpid()) told(done, of);
  }
};

Watcher& watcher() {
  static Watcher one;
  return one;
}

}  // namespace

WorkerWatch::WorkerWatch(Told told) { watcher() = {std::move(told), getpid()}; }
WorkerWatch::~WorkerWatch() { watcher() = {}; }

void run_in_workers(std::size_t count, int workers,
                    const std::function<std::string(std::size_t)>& job,
                    const std::function<void(const WorkerAnswer&)>& done) {
  JobPool pool;
  std::vector<pollfd> no_others;
  std::size_t next = 0, received = 0;
  watcher().tell(0, count);
  while (next < count || pool.size() > 0) {
    for (; next < count && pool.size() < static_cast<std::size_t>(std::max(workers, 1)); ++next)
      pool.start(next, [&, next] { return job(next); });
    const std::vector<WorkerAnswer> answers = pool.wait(no_others, -1);
    for (const WorkerAnswer& answer : answers) {
      done(answer);
      watcher().tell(++received, count);
    }
  }
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace stepcast
