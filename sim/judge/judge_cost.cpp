#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/long_work.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/judge/judge.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

namespace stepcast {
namespace {

/// Processor time of an instruction, as a machine of 2020 judged jobs of 64 to 4096 ranks; and what
/// each adds for every rank, since SimGrid 3.32 looks through all that is under way when something
/// ends.
constexpr double seconds_per_task = 3.5e-6, seconds_per_task_and_rank = 3e-9;
/// A rank with its routes, flows and books; and the program itself.
constexpr double bytes_per_rank = 150e3, bytes_of_program = 60e6;

double tasks_of_rank(const StageProgram& program, const StageOrder& order) {
  return static_cast<double>(program.prologue.size() + program.epilogue.size()) +
         unit_tasks(program, order);
}

/// What this process may take.
double memory_limit() {
  double limit =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  rlimit own{};
  if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
    limit = std::min(limit, static_cast<double>(own.rlim_cur));
  return limit;
}

}  // namespace

JudgeCost judge_cost(const std::vector<StageProgram>& programs,
                     const std::vector<StageOrder>& orders, const Placement& placement,
                     std::int64_t steps) {
  const double ranks = placement.world(),
               of_each_stage = ranks / static_cast<double>(orders.size());
  double tasks = 0;
  for (std::size_t stage = 0; stage < orders.size(); ++stage)
    tasks += of_each_stage * tasks_of_rank(programs[stage], orders[stage]);
  tasks *= static_cast<double>(steps);
  return {tasks * (seconds_per_task + seconds_per_task_and_rank * ranks),
          bytes_of_program + bytes_per_rank * ranks};
}

void announce_judge(const JudgeCost& cost, std::uint32_t ranks) {
  const double limit = memory_limit();
  if (cost.bytes > limit) {
    // What is left beside the program itself, shared out among ranks.
    const double each = (cost.bytes - bytes_of_program) / ranks;
    const auto most = static_cast<std::int64_t>(std::max(1.0, (limit - bytes_of_program) / each));
    throw InputError("simulate.engine: is simgrid, which takes about " + human(Bytes{cost.bytes}) +
                     " of memory for " + std::to_string(ranks) + " ranks, of " +
                     human(Bytes{limit}) + " that the process may have, allowed: at most " +
                     std::to_string(most) +
                     " ranks (stepcast judge --devices cuts a job), or fast");
  }
  if (is_work_watched()) expect_work({"judging the step", cost.seconds, cost.bytes});
}

}  // namespace stepcast
