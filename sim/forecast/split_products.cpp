#include "split_products.hpp"

#include "lone_run.hpp"

namespace stepcast {
namespace {

/// The last layer, which has experts where the model has some, on the first chunk of a stage.
LayerTable last_layer(const WorkloadSpec& spec) {
  LayerTable table;
  table.slices.assign(static_cast<std::size_t>(spec.plan.vpp),
                      std::vector<LayerTable::Slice>(static_cast<std::size_t>(spec.plan.pp)));
  // One layer on the first stage, nothing on the others.
  table.slices.front().front() = {.first = spec.model.layers - 1, .count = 1};
  return table;
}

/// Forward and backward as one stage has them to itself: no neighbour, nothing shared out over
/// data ranks that would have to be gathered.
StageProgram layer_program(const Scenario& scenario, std::int64_t pieces) {
  WorkloadSpec spec = scenario.workload;
  spec.communication.tensor_chunks = pieces;
  // Sharded states would bring gathers that have nothing to do with the products.
  spec.plan.zero = 0;
  spec.pairs = false;
  StageProgram program = lower_stage(spec, last_layer(spec), scenario.cluster, Stage{0});
  // Nothing is sent and nothing stands around the layer.
  program.chunks.resize(1);
  program.slices = 1;
  ChunkProgram& chunk = program.chunks.front();
  chunk.first_forward = chunk.forward;
  chunk.last_backward = chunk.backward;
  chunk.send_forward = chunk.send_backward = Bytes{0};
  program.prologue.clear();
  program.epilogue.clear();
  return program;
}

}  // namespace

std::optional<SplitProducts> split_products(const Scenario& scenario, const Placement& placement) {
  const WorkloadSpec& spec = scenario.workload;
  const std::int64_t pieces = spec.communication.tensor_chunks;
  // Whole products, or a single rank, split nothing.
  if (scenario.synthetic || pieces <= 1 || spec.plan.tp <= 1 || spec.plan.slices > 1)
    return std::nullopt;
  const LoneRun split = run_alone(scenario, placement, layer_program(scenario, pieces));
  const LoneRun whole = run_alone(scenario, placement, layer_program(scenario, 1));
  return SplitProducts{difference(split, whole), split.issue - whole.issue,
                       split.launches - whole.launches};
}

}  // namespace stepcast
