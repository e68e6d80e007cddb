#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "replayer.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

// How long a replay will take, roughly, for those who wait for it (docs/models/replay.md).
namespace stepcast {
namespace {

/// Processor time of an instruction, as a machine of 2020 ran jobs of 1024 to 16384 ranks.
constexpr double seconds_per_task = 1.2e-7;
/// What jitter, pauses and collections add: draws, and waits that are not alike.
constexpr double irregular_factor = 1.5;
/// What a rank keeps of waits and communications until they are settled: of each instruction, or,
/// where that happens on the way, in all.
constexpr double bytes_per_task = 21, settled_bytes_per_rank = 40e3;
/// Micro-batches until the state of a job recurs, in periods of its order.
constexpr std::int64_t periods_until_skip = 5;

/// The states of all ranks are made before anything is replayed.
double bytes_so_far() {
  constexpr double kib = 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return kib * static_cast<double>(usage.ru_maxrss);
}

}  // namespace

double unit_tasks(const StageProgram& program, const StageOrder& order) {
  // Units of one kind, chunk and slice have the same code. Counting it once keeps this cheap beside
  // a replay.
  std::map<std::tuple<UnitKind, std::uint32_t, std::uint32_t>, double> known;
  double sum = 0;
  for (const Unit& unit : order) {
    const auto [entry, added] =
        known.try_emplace({unit.kind, unit.chunk.value, unit.slice.value}, 0);
    if (added)
      entry->second =
          static_cast<double>(usual_code(program.of(unit.chunk, unit.slice), unit.kind).size());
    sum += entry->second;
  }
  return sum;
}

LongWork Replayer::expected() const {
  std::vector<double> of_stage(input_.orders.size(), -1);
  double tasks = 0;
  for (RankIndex r = 0; r < ranks_.size(); ++r) {
    const std::uint32_t stage = ranks_[r].stage.value;
    // Ranks of a stage run one program, so that its tasks are counted once.
    if (of_stage[stage] < 0) of_stage[stage] = unit_tasks(program_of(r), input_.orders[stage]);
    tasks += of_stage[stage];
  }
  tasks *= static_cast<double>(input_.steps);
  double each = seconds_per_task;
  // A step that comes to repeat itself is skipped from there on.
  if (may_recur_) {
    const auto all = static_cast<double>(input_.shape.micro_batches);
    tasks *= std::min(1.0, static_cast<double>(periods_until_skip * period()) / all);
  } else if (input_.stalls && input_.stalls->irregular()) {
    each *= irregular_factor;
  }
  // Waits are settled from time to time, which bounds what is kept of them.
  double bytes = bytes_per_task * tasks;
  if (!may_recur_)
    bytes = std::min(bytes, settled_bytes_per_rank * static_cast<double>(ranks_.size()));
  if (recorder_) bytes += recorded_entries() * static_cast<double>(sizeof(Recording::Entry));
  return {"replaying the step", each * tasks, bytes_so_far() + bytes};
}

/// By the rank at hand: none is far behind another.
void Replayer::tell_progress(RankIndex r) const {
  const RankState& rank = ranks_[r];
  const auto units = static_cast<double>(std::max<std::size_t>(rank.order->size(), 1));
  const double steps = static_cast<double>(rank.step) + static_cast<double>(rank.unit) / units;
  tell_share(std::min(1.0, steps / static_cast<double>(step_ends_.size())));
}

}  // namespace stepcast
