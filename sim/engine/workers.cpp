#include "stepcast/sim/engine/workers.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/job_pool.hpp"

namespace stepcast {
namespace {

/// Who is told of jobs, and the process that is.
struct Watcher {
  WorkerWatch::Told told;
  pid_t process{};

  void tell(std::size_t done, std::size_t of) const {
    // Jobs inherit the watcher with the memory of their parent, who alone reports.
    if (told && process == getpid()) told(done, of);
  }
};

Watcher& watcher() {
  static Watcher one;
  return one;
}

/// False: neither a process nor a socket is to be had, but jobs are under way.
bool started(JobPool& pool, std::size_t index) {
  try {
    pool.start(index);
    return true;
  } catch (const EngineError&) {
    // The processes of those jobs take the others when they are free.
    if (pool.size() == 0) throw;
    return false;
  }
}

}  // namespace

void throw_failure(const std::string& what, const WorkerAnswer& answer) {
  if (answer.bad_input) throw InputError(answer.failure);
  throw EngineError(what + ": " + answer.failure);
}

WorkerWatch::WorkerWatch(Told told) { watcher() = {std::move(told), getpid()}; }
WorkerWatch::~WorkerWatch() { watcher() = {}; }

void run_in_workers(std::size_t count, int workers,
                    const std::function<std::string(std::size_t)>& job,
                    const std::function<void(const WorkerAnswer&)>& done) {
  JobPool pool([&](std::size_t index, const std::string&) { return job(index); });
  std::vector<pollfd> no_others;
  std::size_t next = 0, received = 0;
  watcher().tell(0, count);
  while (next < count || pool.size() > 0) {
    // As many at once as asked for, or as the machine lets start.
    while (next < count && pool.size() < static_cast<std::size_t>(std::max(workers, 1)) &&
           started(pool, next))
      ++next;
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
  // The mask of the process, not the machine's count: containers and taskset limit it.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace stepcast
