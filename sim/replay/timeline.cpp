#include <algorithm>

#include "replayer.hpp"

namespace stepcast {
namespace {

/// Takes `amount` from what the rank did last of all: waiting first.
void cut(RankTimes& times, double amount) {
  std::vector<Seconds*> parts{&times.bubble, &times.other_idle, &times.host_stall};
  for (Seconds& part : times.exposed) parts.push_back(&part);
  parts.push_back(&times.computing);
  for (Seconds* part : parts) {
    const double taken = std::min(amount, part->value());
    *part -= Seconds{taken};
    amount -= taken;
  }
}

void scale(RankTimes& times, double factor) {
  for (Seconds* part : {&times.computing, &times.bubble, &times.host_stall, &times.other_idle,
                        &times.communication}) {
    *part = *part * factor;
  }
  for (Seconds& part : times.exposed) part = part * factor;
  times.segments *= factor;
  times.host_bound_segments *= factor;
}

}  // namespace

/// A step after the first, on average. A rank counts from its own end of the first step, the job
/// from the last rank's: the part before that is cut away.
RankTimes Replayer::later_steps(const RankState& rank) const {
  RankTimes times = rank.books.times[1];
  cut(times, step_ends_.front() - rank.books.first_end);
  scale(times, 1 / static_cast<double>(step_ends_.size() - 1));
  return times;
}

Timeline Replayer::timeline() {
  Timeline result;
  const std::size_t steps = step_ends_.size();
  const double end = step_ends_.back();
  for (std::size_t k = 0; k < steps; ++k)
    result.steps.push_back(Seconds{step_ends_[k] - (k == 0 ? 0 : step_ends_[k - 1])});
  result.step_time = steps == 1
                         ? Seconds{end}
                         : Seconds{(end - step_ends_.front()) / static_cast<double>(steps - 1)};
  for (RankState& rank : ranks_) {
    idle(rank, end, end, ExposedKind::pipeline, 0, true);
    rank.log.settle(unknown_time, unknown_time, rank.books);
    result.classes.push_back(steps == 1 ? rank.books.times[0] : later_steps(rank));
    result.classes.back().end = Seconds{rank.end};
  }
  result.tasks = tasks_;
  result.events = engine_.events();
  result.flows = engine_.flows();
  result.lone_flows = lone_flows_ + engine_.lone_flows();
  return result;
}

}  // namespace stepcast
