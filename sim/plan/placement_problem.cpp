#include <algorithm>

#include "placement.hpp"
#include "stepcast/workloads/memory.hpp"

namespace stepcast {
namespace {

using Slice = LayerTable::Slice;
using Recompute = TrainingSpec::Recompute;

/// Bytes of one stage that holds one slice, none of it in flight.
MemoryBudget bytes_of(const Scenario& scenario, const Slice& slice) {
  WorkloadSpec spec = scenario.workload;
  spec.training.recompute = Recompute::none;
  LayerTable table;
  table.slices = {{slice}};
  return stage_memory(spec, table, scenario.cluster, Stage{0}, std::vector<int>{0});
}

/// What does not depend on the micro-batches in flight counts once per stage.
double states(const MemoryBudget& budget) {
  return (budget.parameters + budget.gradients + budget.optimizer).value();
}

/// Bytes that one micro-batch leaves of the ends of the model.
double kept_of(const Scenario& scenario, const Slice& slice) {
  WorkloadSpec spec = scenario.workload;
  spec.training.recompute = Recompute::none;
  LayerTable table;
  table.slices = {{slice}};
  const auto held = [&](int count) {
    return stage_memory(spec, table, scenario.cluster, Stage{0}, std::vector<int>{count})
        .activations.value();
  };
  return held(1) - held(0);
}

/// Kept and recomputed layers are lowered both, so that the extra time of a recomputed one is their
/// difference.
LayerRun run_of(const Scenario& scenario, bool moe, std::int64_t first, const PieceCost& kept,
                const PieceCost& again) {
  const SoftmaxState state = scenario.cluster.device.softmax_state;
  LayerRun run;
  run.unit = kept.forward + kept.backward;
  run.recompute = again.forward + again.backward - run.unit;
  run.states = states(bytes_of(scenario, {.first = first, .count = 1}));
  run.kept = layer_activations(scenario.workload, moe, Recompute::none, state).value();
  run.kept_recomputed = layer_activations(scenario.workload, moe, Recompute::full, state).value();
  return run;
}

}  // namespace

/// Buffers and what is rebuilt of one layer are taken off the capacity, because they do not depend
/// on the placement.
PlacementProblem placement_problem(const Scenario& given, double capacity, CollectiveTimes& times,
                                   MomentTable& moments) {
  Scenario scenario = given;
  scenario.workload.training.recompute = Recompute::none;
  const LayerCosts kept = layer_costs(scenario, times);
  scenario.workload.training.recompute = Recompute::full;
  const LayerCosts again = layer_costs(scenario, times);
  const ModelSpec& model = scenario.workload.model;
  const auto piece = [](const LayerCosts& costs, PlanPiece p) {
    return costs.pieces[static_cast<std::size_t>(p)];
  };
  PlacementProblem problem;
  problem.stages = scenario.workload.plan.pp;
  problem.chunks = scenario.workload.plan.vpp;
  problem.micro_batches = scenario.micro_batches();
  problem.moments =
      moments.of(pipeline_schedule(scenario.schedule.pipeline), scenario.pipeline_shape());
  double rebuilt = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const bool moe = model.is_moe_layer(layer);
    if (layer == 0 || moe != model.is_moe_layer(layer - 1)) {
      const PlanPiece kind = moe ? PlanPiece::moe_layer : PlanPiece::dense_layer;
      problem.runs.push_back(run_of(scenario, moe, layer, piece(kept, kind), piece(again, kind)));
      rebuilt = std::max(rebuilt, problem.runs.back().kept - problem.runs.back().kept_recomputed);
    }
    problem.runs.back().layers += 1;
  }
  const Slice first{.embedding = true}, last{.head = true, .mtp = model.mtp_layers};
  const PieceCost embedding = piece(kept, PlanPiece::embedding);
  const PieceCost head = piece(kept, PlanPiece::head), mtp = piece(kept, PlanPiece::mtp_module);
  problem.first.unit = embedding.forward + embedding.backward;
  problem.first.states = states(bytes_of(scenario, first));
  problem.first.kept = kept_of(scenario, first);
  problem.last.unit = head.forward + head.backward +
                      static_cast<double>(model.mtp_layers) * (mtp.forward + mtp.backward);
  const MemoryBudget tail = bytes_of(scenario, last);
  problem.last.states = states(tail) + tail.activations.value();
  problem.last.kept = kept_of(scenario, last);
  problem.capacity = capacity - tail.buffers.value() - rebuilt;
  return problem;
}

}  // namespace stepcast
