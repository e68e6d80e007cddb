#include "stepcast/sim/engine/workers.hpp"

#include <sched.h>

#include <algorithm>

#include "stepcast/sim/engine/job_pool.hpp"

namespace stepcast {

void run_in_workers(std::size_t count, int workers,
                    const std::function<std::string(std::size_t)>& job,
                    const std::function<void(const WorkerAnswer&)>& done) {
  JobPool pool;
  std::vector<pollfd> no_others;
  std::size_t next = 0;
  while (next < count || pool.size() > 0) {
    for (; next < count && pool.size() < static_cast<std::size_t>(std::max(workers, 1)); ++next)
      pool.start(next, [&, next] { return job(next); });
    const std::vector<WorkerAnswer> answers = pool.wait(no_others, -1);
    for (const WorkerAnswer& answer : answers) done(answer);
  }
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace stepcast
