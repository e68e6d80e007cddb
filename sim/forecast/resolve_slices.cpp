#include <optional>

#include "resolving.hpp"
#include "stepcast/scheduler/balanced_slices.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/rewrites.hpp"
#include "stepcast/workloads/states.hpp"

// The tokens of slices that the user leaves to the program.
namespace stepcast {
namespace {

constexpr std::int64_t most_grid_steps = 64;  // of the grid on which slices end

/// The finest grid of at most `most_grid_steps` steps on which the slices can be equal; where the
/// sequence does not divide so, the finest of all. 0: there is none.
std::int64_t grid_steps(std::int64_t sequence, std::int64_t slices, std::int64_t part) {
  const auto fits = [&](std::int64_t steps) { return sequence % (steps * part) == 0; };
  // Down from the finest, in steps that equal slices would fit into.
  for (std::int64_t steps = most_grid_steps / slices * slices; steps >= slices; steps -= slices)
    if (fits(steps)) return steps;
  for (std::int64_t steps = most_grid_steps; steps >= slices; --steps)
    if (fits(steps)) return steps;
  return 0;
}

/// Times of the transformer layers of one stage for one slice, on the fullest rank.
class SliceClock {
 public:
  explicit SliceClock(const Scenario& scenario)
      : scenario_{scenario},
        spec_{scenario.workload},
        placement_{spec_.plan},
        loads_{expert_loads(spec_)},
        collectives_{scenario.cluster, spec_.communication.algorithms} {}

  /// Forward and backward of the tokens [start, start + length) of a sequence [s].
  double time(std::int64_t start, std::int64_t length) {
    // Before, the slice itself, and the rest: the middle one is asked for.
    spec_.plan.slice_tokens = {start, length, spec_.training.sequence - start - length};
    spec_.plan.slices = std::ssize(spec_.plan.slice_tokens);
    const ModelSpec& model = spec_.model;
    std::int64_t experts = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      experts += model.is_moe_layer(layer) ? 1 : 0;
    double sum = 0;
    // Layers of a kind are alike: one of each, times how many there are.
    if (experts > 0) sum += static_cast<double>(experts) * of_layer(LayerKind::moe);
    if (experts < model.layers)
      sum += static_cast<double>(model.layers - experts) * of_layer(LayerKind::dense);
    return sum / static_cast<double>(spec_.plan.pp);
  }

 private:
  double of_layer(LayerKind kind) {
    const LayerContext context{.model = spec_.model,
                               .plan = spec_.plan,
                               .training = spec_.training,
                               .moe = spec_.moe,
                               .load = loads_.largest(),
                               .gradient_bytes = gradient_bytes(spec_.communication),
                               .tensor_chunks = spec_.communication.tensor_chunks,
                               .loads = &loads_,
                               .slice = 1,
                               .router = spec_.runtime.kernels.router,
                               .block = spec_.runtime.kernels.block};
    Passes passes = transformer_layer(context, kind);
    double sum = of(std::move(passes.forward)) + of(std::move(passes.backward));
    // Full recomputation runs the forward again in the backward.
    if (spec_.training.recompute == TrainingSpec::Recompute::full)
      sum += of(std::move(passes.recomputed));
    return sum;
  }

  /// Of the device, with the communications that nothing hides.
  double of(LayerItems items) {
    const bool fp8 = spec_.training.precision == TrainingSpec::Precision::fp8_mixed;
    const DeviceSpec device = in_step(scenario_.cluster.device);
    double sum = 0;
    for (const LayerItem& item : as_run(std::move(items), spec_, device)) {
      if (const auto* op = std::get_if<Operator>(&item)) {
        sum += operator_time(*op, device, fp8).value();
        // Overlapped exchanges take no time of their own here.
      } else if (const auto* call = std::get_if<LayerCommunication>(&item);
                 call != nullptr && !call->overlapped) {
        sum +=
            collectives_.about(collectives_.members(placement_, call->group, Rank{0}), call->call);
      }
    }
    return sum;
  }

  const Scenario& scenario_;
  WorkloadSpec spec_;
  Placement placement_;
  ExpertLoads loads_;
  CollectiveTimes collectives_;
};

/// Of one stage, by first step of the grid and number of steps.
SliceTimes times_on_grid(const Scenario& scenario, std::int64_t steps, std::int64_t step) {
  SliceClock clock(scenario);
  SliceTimes times(static_cast<std::size_t>(steps));
  for (std::int64_t first = 0; first < steps; ++first)
    for (std::int64_t length = 1; length <= steps - first; ++length)
      times[static_cast<std::size_t>(first)].push_back(clock.time(first * step, length * step));
  return times;
}

}  // namespace

void resolve_slices(Scenario& scenario, Checks& checks) {
  if (!scenario.schedule.balanced_slices) return;
  ParallelPlan& plan = scenario.workload.plan;
  const std::int64_t sequence = scenario.workload.training.sequence;
  // With sequence parallelism tensor ranks share out the tokens of a slice.
  const std::int64_t part = plan.sequence_parallel ? plan.tp : 1;
  const std::int64_t steps = grid_steps(sequence, plan.slices, part);
  const std::string named = "balanced(" + std::to_string(plan.slices) + ")";
  if (!checks.require(steps > 0, "schedule.slices",
                      "is " + named + ", which looks for slices among at most " +
                          std::to_string(most_grid_steps) + " equal steps of the " +
                          std::to_string(sequence) + " tokens, and finds no such grid, allowed: " +
                          "fewer slices, or their tokens as a list"))
    return;
  const std::int64_t step = sequence / steps;
  // docs/models/pipeline.md, slices: T = m sum t + (p - 1) / v max t.
  std::vector<std::int64_t> tokens = balanced_slices(
      times_on_grid(scenario, steps, step), plan.slices,
      static_cast<double>(scenario.micro_batches()), pipeline_fill(plan.pp, plan.vpp));
  for (std::int64_t& n : tokens) n *= step;
  // Estimates decide between cuts; a replay decides against equal slices.
  const bool equal_fit = sequence % (plan.slices * part) == 0;
  CollectiveTimes collectives(scenario.cluster, scenario.workload.communication.algorithms);
  const auto alone = [&] { return LoneStep(scenario, collectives, LonePace::even).replayed(); };
  std::optional<Seconds> of_equal;
  if (equal_fit) of_equal = alone();
  plan.slice_tokens = std::move(tokens);
  if (of_equal && alone() >= *of_equal) plan.slice_tokens.clear();
}

}  // namespace stepcast
