#include "stepcast/sim/forecast/goodput.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr double most_steps = 0x1p53;

/// Work of a step. The step time is the mean of the steps after the first, where there are any, and
/// step k ends with a checkpoint when every_steps divides k + 1. One in time is never replayed.
Seconds work_of(const Timeline& timeline, const StallsSpec::Checkpoint& checkpoint) {
  if (checkpoint.every > Seconds{0}) return timeline.step_time;
  const auto steps = static_cast<std::int64_t>(timeline.steps.size());
  // The first step of several is not in the mean, and its checkpoint neither.
  const std::int64_t first = steps > 1 ? 1 / checkpoint.every_steps : 0;
  const std::int64_t saved = steps / checkpoint.every_steps - first;
  const double per_step =
      static_cast<double>(saved) / static_cast<double>(std::max<std::int64_t>(steps - 1, 1));
  return timeline.step_time - checkpoint.blocking_time * per_step;
}

/// Whole steps next to the best interval: the better neighbour.
std::int64_t whole_steps(const FailureModel& model, Seconds best, Seconds step) {
  // At least a step, and no more than doubles count exactly.
  const double below = std::clamp(std::floor(best / step), 1.0, most_steps);
  const double above = std::min(below + 1, most_steps);
  const bool up = goodput(model, step * above) > goodput(model, step * below);
  return static_cast<std::int64_t>(up ? above : below);
}

}  // namespace

double goodput(const FailureModel& model, Seconds interval) {
  if (!model.mtbf) return interval / (interval + model.checkpoint);
  const Seconds mtbf = *model.mtbf;
  // (2) of docs/models/goodput.md, over M: expm1 keeps what short intervals would lose.
  const double wall =
      std::exp(model.restart / mtbf) * std::expm1((interval + model.checkpoint) / mtbf);
  return interval / mtbf / wall;
}

Seconds young_interval(Seconds checkpoint, Seconds mtbf) {
  return Seconds{std::sqrt(2 * checkpoint.value() * mtbf.value())};
}

Seconds daly_interval(Seconds checkpoint, Seconds mtbf) {
  const double half = checkpoint / (2 * mtbf);
  // Beyond C = 2M the series no longer holds: Daly takes M.
  if (half >= 1) return mtbf;
  return young_interval(checkpoint, mtbf) * (1 + std::sqrt(half) / 3 + half / 9) - checkpoint;
}

std::optional<Reliability> reliability(const Scenario& scenario, const Timeline& timeline,
                                       Seconds fleet) {
  const auto& checkpoint = scenario.stalls.checkpoint;
  const auto& failures = scenario.stalls.failures;
  if (!checkpoint && !failures) return {};
  Reliability result;
  FailureModel model;
  if (failures) {
    model.restart = failures->restart;
    model.mtbf = failures->device_mtbf / static_cast<double>(scenario.cluster.devices);
    result.cluster_mtbf = model.mtbf;
  }
  if (!checkpoint) return result;
  model.checkpoint = checkpoint->blocking_time;
  const Seconds step = work_of(timeline, *checkpoint) + fleet;
  result.checkpoint_steps = checkpoint->steps_between(step);
  result.checkpoint_interval = step * static_cast<double>(*result.checkpoint_steps);
  result.goodput = goodput(model, *result.checkpoint_interval);
  if (!failures) return result;
  result.optimal_interval = daly_interval(model.checkpoint, *model.mtbf);
  result.optimal_every_steps = whole_steps(model, *result.optimal_interval, step);
  result.goodput_at_optimum =
      goodput(model, step * static_cast<double>(*result.optimal_every_steps));
  return result;
}

}  // namespace stepcast
