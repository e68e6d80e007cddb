#include "stepcast/sim/replay/worst_replicas.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <set>

namespace stepcast {
namespace {

/// Kinds of groups that meet in every micro-batch.
std::set<GroupKind> kinds_met(const std::vector<StageProgram>& programs) {
  std::set<GroupKind> kinds;
  for (const StageProgram& program : programs) {
    const auto look = [&](const Instructions& code) {
      for (const Instruction& instruction : code) {
        const auto* start = std::get_if<Communicate>(&instruction);
        // A copy to the host meets nobody.
        if (start == nullptr || program.calls[start->call].over_host_link()) continue;
        kinds.insert(program.calls[start->call].group);
      }
    };
    // First and last units are left out: what they add meets once per step.
    for (const ChunkProgram& chunk : program.chunks) {
      for (const Instructions* code :
           {&chunk.forward, &chunk.backward, &chunk.backward_input, &chunk.backward_weight})
        look(*code);
      for (const Instructions& pair : chunk.paired) look(pair);
    }
  }
  return kinds;
}

void add_code(const StageProgram& program, const Instructions& code, PacedWork& work) {
  // Waits and syncs cost no work of their own: a pace stretches what device and host do.
  for (const Instruction& instruction : code) {
    if (const auto* run = std::get_if<Compute>(&instruction)) {
      const Segment& segment = program.segments[run->segment];
      work.device += segment.device_time();
      for (const OperatorCost& cost : segment.operators()) work.host += cost.main;
    } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
      work.host += program.calls[start->call].issue.main;
    }
  }
}

/// Less than nothing is taken from waiting, as far as there is any.
void move_to_waiting(RankTimes& times, Seconds amount) {
  // Work that was done at the pace of a slower rank is waiting.
  if (amount >= Seconds{0}) {
    times.computing -= amount;
    times.other_idle += amount;
    return;
  }
  Seconds missing = -amount;
  const auto take = [&](Seconds& part) {
    const Seconds taken = std::min(missing, std::max(part, Seconds{0}));
    part -= taken;
    missing -= taken;
    times.computing += taken;
  };
  take(times.other_idle);
  take(times.bubble);
  for (Seconds& part : times.exposed) take(part);
}

}  // namespace

LockStep::LockStep(const Placement& placement, const std::vector<StageProgram>& programs)
    : placement_{placement}, of_rank_(placement.world()) {
  std::vector<std::uint32_t> rank(placement.world()), parent(placement.world());
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> sets(rank.data(), parent.data());
  for (std::uint32_t r = 0; r < placement.world(); ++r) sets.make_set(r);
  // Union-find over groups that meet and over the pipeline: what is connected goes in step.
  const std::set<GroupKind> kinds = kinds_met(programs);
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    for (const GroupKind kind : kinds)
      sets.union_set(r, static_cast<std::uint32_t>(placement.group_key(kind, Rank{r})));
    sets.union_set(r, placement.on_stage(Rank{r}, Stage{0}).value);
  }
  std::vector<std::uint32_t> number(placement.world(), UINT32_MAX);
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    // Replicas are numbered by their first rank.
    std::uint32_t& own = number[sets.find_set(r)];
    if (own == UINT32_MAX) own = count_++;
    of_rank_[r] = own;
  }
}

std::vector<std::vector<SpeedFactors>> LockStep::paces(const StallPlan& stalls) const {
  const auto stages = static_cast<std::size_t>(placement_.plan().pp);
  // 0 is below every factor, so that the largest of the stage's ranks remains.
  std::vector paces(count_, std::vector<SpeedFactors>(stages, SpeedFactors{0, 0}));
  for (std::uint32_t r = 0; r < of_rank_.size(); ++r) {
    SpeedFactors& pace = paces[of_rank_[r]][placement_.stage_of(Rank{r}).value];
    const SpeedFactors own = stalls.speed_of(Rank{r});
    pace.device = std::max(pace.device, own.device);
    pace.host = std::max(pace.host, own.host);
  }
  return paces;
}

double PacedWork::at(const SpeedFactors& speed) const {
  return std::max(device * speed.device, host * speed.host);
}

std::vector<StageWork> stage_work(const std::vector<StageProgram>& programs) {
  std::vector<StageWork> stages;
  stages.reserve(programs.size());
  for (const StageProgram& program : programs) {
    StageWork& work = stages.emplace_back();
    for (const ChunkProgram& chunk : program.chunks) {
      add_code(program, chunk.forward, work.micro_batch);
      add_code(program, chunk.backward, work.micro_batch);
    }
    // What stands around the units happens once per step.
    add_code(program, program.prologue, work.once);
    add_code(program, program.epilogue, work.once);
  }
  return stages;
}

bool exchanges_beside_units(const std::vector<StageProgram>& programs) {
  const std::set<GroupKind> kinds = kinds_met(programs);
  if (kinds.empty() && programs.size() == 1) return false;
  const auto begins_others = [&](const StageProgram& program, const Instructions& code) {
    return std::ranges::any_of(code, [&](const Instruction& instruction) {
      const auto* start = std::get_if<Communicate>(&instruction);
      if (start == nullptr) return false;
      const StageCall& call = program.calls[start->call];
      return !call.over_host_link() && !kinds.contains(call.group);
    });
  };
  return std::ranges::any_of(programs, [&](const StageProgram& program) {
    return std::ranges::any_of(program.chunks, [&](const ChunkProgram& chunk) {
      return begins_others(program, chunk.last_backward) ||
             begins_others(program, chunk.last_backward_weight);
    });
  });
}

/// From the first rank of a stage on: each group that holds a known rank makes its members known.
std::uint32_t ranks_in_step(const Placement& placement, const std::vector<StageProgram>& programs) {
  std::set<GroupKind> kinds;
  const auto stage_ranks = static_cast<std::uint32_t>(placement.plan().stage_ranks());
  for (const GroupKind kind : kinds_met(programs)) {
    const std::uint32_t size = placement.group_size(kind);
    // Stages meet in the pipeline, which joins no ranks of one stage.
    const bool over_stages = kind == GroupKind::pipeline || kind == GroupKind::embedding ||
                             kind == GroupKind::mirror || kind == GroupKind::world;
    if (size > 1 && !over_stages) kinds.insert(kind);
    if (!over_stages && size == stage_ranks) return stage_ranks;
  }
  std::set<std::uint32_t> known{placement.first_of(Stage{0}).value};
  std::set<std::pair<GroupKind, std::uint64_t>> met;
  std::vector<std::uint32_t> waiting(known.begin(), known.end());
  while (!waiting.empty()) {
    const Rank rank{waiting.back()};
    waiting.pop_back();
    for (const GroupKind kind : kinds) {
      // A group is looked at once, whoever of it comes first.
      if (!met.emplace(kind, placement.group_key(kind, rank)).second) continue;
      for (const Rank member : placement.group(kind, rank))
        if (known.insert(member.value).second) waiting.push_back(member.value);
    }
  }
  return static_cast<std::uint32_t>(known.size());
}

PaceEstimate::PaceEstimate(const std::vector<StageProgram>& programs, const PipelineShape& shape)
    : work_{stage_work(programs)},
      micro_batches_{static_cast<double>(shape.micro_batches)},
      chunks_{static_cast<double>(shape.chunks)} {}

/// M max + (sum - max) / V, docs/models/spread.md (2).
double PaceEstimate::operator()(const std::vector<SpeedFactors>& pace_of_stage) const {
  double sum = 0, longest = 0, once = 0;
  for (std::size_t s = 0; s < work_.size(); ++s) {
    const double time = work_[s].micro_batch.at(pace_of_stage[s]);
    sum += time;
    longest = std::max(longest, time);
    once = std::max(once, work_[s].once.at(pace_of_stage[s]));
  }
  return micro_batches_ * longest + (sum - longest) / chunks_ + once;
}

StallPlan at_pace_of(const StallPlan& stalls, const LockStep& lock_step, const RankClasses& classes,
                     const std::vector<SpeedFactors>& pace_of_stage, std::uint32_t replica) {
  const std::size_t count = classes.representative.size();
  std::vector<SpeedFactors> sum(count, SpeedFactors{0, 0});
  std::vector<bool> has_ranks_of_it(count);
  for (std::uint32_t r = 0; r < classes.class_of.size(); ++r) {
    const std::uint32_t c = classes.class_of[r];
    // Other replicas go at the mean of their ranks: nobody waits for them in a micro-batch.
    sum[c].device += stalls.speed_of(Rank{r}).device;
    sum[c].host += stalls.speed_of(Rank{r}).host;
    if (lock_step.replica_of(Rank{r}) == replica) has_ranks_of_it[c] = true;
  }
  StallPlan plan = stalls;
  plan.speed.assign(stalls.ranks, SpeedFactors{});
  for (std::size_t c = 0; c < count; ++c) {
    const double ranks = classes.ranks[c];
    plan.speed[classes.representative[c].value] =
        has_ranks_of_it[c] ? pace_of_stage[classes.stage[c].value]
                           : SpeedFactors{sum[c].device / ranks, sum[c].host / ranks};
  }
  return plan;
}

void give_back_waiting(Timeline& timeline, const RankClasses& classes, const StallPlan& own,
                       const StallPlan& replayed) {
  std::vector<double> sum(classes.representative.size());
  for (std::uint32_t r = 0; r < classes.class_of.size(); ++r)
    sum[classes.class_of[r]] += own.speed_of(Rank{r}).device;
  for (std::size_t c = 0; c < sum.size(); ++c) {
    const double pace = replayed.speed_of(classes.representative[c]).device;
    RankTimes& times = timeline.classes[c];
    // What the class worked beyond the mean pace of its ranks was waiting for most of them.
    move_to_waiting(times, times.computing * (1 - sum[c] / classes.ranks[c] / pace));
  }
}

}  // namespace stepcast
