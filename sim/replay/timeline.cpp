#include <algorithm>

#include "replayer.hpp"

namespace stepcast {
namespace {

/// Takes `amount` from what the rank did last of all: waiting first.
void cut(RankTimes& times, double amount) {
  std::vector<Seconds*> parts{&times.bubble, &times.other_idle, &times.host_stall,
                              &times.compile_stall};
  for (Seconds& part : times.exposed) parts.push_back(&part);
  // Waiting first, then exposed communication, and work last of all.
  parts.push_back(&times.computing);
  for (Seconds* part : parts) {
    const double taken = std::min(amount, part->value());
    *part -= Seconds{taken};
    amount -= taken;
  }
}

}  // namespace

/// A weight may be negative: what a period took is the books after it minus those before.
void add(RankTimes& sum, const RankTimes& part, double weight) {
  sum.computing += part.computing * weight;
  for (std::size_t k = 0; k < exposed_kinds; ++k) sum.exposed[k] += part.exposed[k] * weight;
  sum.bubble += part.bubble * weight;
  sum.host_stall += part.host_stall * weight;
  sum.compile_stall += part.compile_stall * weight;
  sum.other_idle += part.other_idle * weight;
  sum.fleet += part.fleet * weight;
  sum.communication += part.communication * weight;
  sum.segments += part.segments * weight;
  sum.host_bound_segments += part.host_bound_segments * weight;
  sum.clock += part.clock * weight;
}

/// A step after the first, on average. A rank counts from its own end of the first step, the job
/// from the last rank's: the part before that is cut away.
RankTimes later_steps(const StepBooks& books, double first_end, std::size_t steps) {
  RankTimes times = books.times[1];
  cut(times, first_end - books.first_end);
  RankTimes mean;
  add(mean, times, 1 / static_cast<double>(steps - 1));
  return mean;
}

/// Ranks that are done early wait for the last one, which nobody has told them before.
Timeline Replayer::timeline() {
  Timeline result;
  const std::size_t steps = step_ends_.size();
  const double end = step_ends_.back();
  // Each step from the end of the last rank in the one before.
  for (std::size_t k = 0; k < steps; ++k)
    result.steps.push_back(Seconds{step_ends_[k] - (k == 0 ? 0 : step_ends_[k - 1])});
  result.step_time = steps == 1
                         ? Seconds{end}
                         : Seconds{(end - step_ends_.front()) / static_cast<double>(steps - 1)};
  for (RankIndex r = 0; r < ranks_.size(); ++r) {
    const RankState& rank = ranks_[r];
    // Whoever is done early waits for the last rank: a bubble.
    idle(r, end, end, ExposedKind::pipeline, {}, true);
    settle(r, unknown_time, unknown_time);
    result.classes.push_back(steps == 1 ? rank.books.times[0]
                                        : later_steps(rank.books, step_ends_.front(), steps));
    result.classes.back().end = Seconds{rank.end};
  }
  if (recorder_) recorder_->finish(end);
  result.tasks = tasks_;
  result.events = engine_.events();
  result.flows = engine_.flows();
  if (result.flows > 0)
    result.solver = engine_.incremental() ? Solver::incremental : Solver::simgrid;
  result.skipped_micro_batches = skipped_micro_batches_;
  result.lone_flows = lone_flows_ + engine_.lone_flows();
  return result;
}

}  // namespace stepcast
