#include "spread_step.hpp"

#include <algorithm>
#include <numeric>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"

namespace stepcast {
namespace {

/// Where every rank is simulated by itself, the step without spread has a folding of its own.
Seconds calm_apart(const StepSetup& setup) {
  Scenario calm = setup.scenario;
  calm.stalls.spread.reset();
  const StepSetup own(calm, setup.loads, setup.ideal, false);
  return step_time_apart(own, own.stalls(calm.stalls));
}

}  // namespace

Seconds step_time_apart(const StepSetup& setup, const StallPlan& stalls) {
  if (!needs_simgrid(setup.scenario)) return setup.replayed(stalls).step_time;
  WorkerAnswer answer;
  // A process makes at most one run in which SimGrid shares flows.
  run_in_workers(
      1, 1, [&](std::size_t) { return shortest(setup.replayed(stalls).step_time.value()); },
      [&](const WorkerAnswer& a) { answer = a; });
  const auto seconds = parse_number(answer.text);
  if (answer.failed() || !seconds) throw_failure("a step under spread", answer);
  return Seconds{*seconds};
}

/// The estimate adds what the pace costs to the step without spread. It is rather too long, so that
/// a replica whose estimate is shorter than a replayed one can be dismissed.
WorstReplica worst_replica(const StepSetup& setup, const LockStep& lock_step,
                           const StallPlan& stalls, Seconds calm) {
  // Device and host factors by replica and stage.
  const auto paces = lock_step.paces(stalls);
  const PaceEstimate estimate(setup.programs, setup.scenario.pipeline_shape());
  const double even = estimate(std::vector(setup.programs.size(), SpeedFactors{}));
  std::vector<double> expected;
  expected.reserve(paces.size());
  // What a pace costs is the difference of two estimates, so that their common error goes.
  for (const auto& pace : paces) expected.push_back(calm.value() + estimate(pace) - even);
  std::vector<std::uint32_t> order(paces.size());
  std::iota(order.begin(), order.end(), 0U);
  // Stable, so that equal estimates keep the order of the replicas.
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](auto r) { return expected[r]; });

  WorstReplica worst;
  std::size_t next = 0;
  for (; next < std::min(order.size(), most_replicas); ++next) {
    const std::uint32_t replica = order[next];
    // The estimate is rather too long: whoever is below cannot be the slowest.
    if (next > 0 && expected[replica] <= worst.step_time.value()) break;
    StallPlan plan = at_pace_of(stalls, lock_step, setup.network.classes, paces[replica], replica);
    const Seconds step = step_time_apart(setup, plan);
    ++worst.replayed;
    if (step > worst.step_time) {
      worst.step_time = step;
      worst.plan = std::move(plan);
    }
  }
  // What was not replayed could be longer by no more than its estimate says.
  if (next < order.size())
    worst.error_bound = std::max(0.0, expected[order[next]] / worst.step_time.value() - 1);
  return worst;
}

SpreadStep step_under_spread(const StepSetup& setup, Recording* record,
                             const RecordedClasses& recorded) {
  const StallPlan stalls = setup.stalls(setup.scenario.stalls);
  SpreadStep result;
  SpreadForecast& spread = result.spread;
  // Every rank is simulated by itself: one replay, and one without spread to compare with.
  if (setup.step_kind == StepKind::spread) {
    spread.calm_step_time = calm_apart(setup);
    result.timeline = setup.replayed(stalls, record, recorded);
    return result;
  }
  const LockStep lock_step(setup.placement, setup.programs);
  spread.calm_step_time =
      step_time_apart(setup, setup.stalls(without_spread(setup.scenario.stalls)));
  const WorstReplica worst = worst_replica(setup, lock_step, stalls, spread.calm_step_time);
  // The last replay runs here, since its timeline is needed whole.
  result.timeline = setup.replayed(worst.plan, record, recorded);
  // Ranks of the class were given the pace of the slowest; what they waited is not work.
  give_back_waiting(result.timeline, setup.network.classes, stalls, worst.plan);
  spread.folded = SpreadForecast::Folded{lock_step.replicas(), worst.replayed, worst.error_bound};
  return result;
}

}  // namespace stepcast
