#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

namespace {

std::uint32_t add_segment(StageProgram& program, std::vector<OperatorCost> operators) {
  program.segments.emplace_back(std::move(operators));
  return static_cast<std::uint32_t>(program.segments.size() - 1);
}

OperatorCost device_time(Seconds time) {
  OperatorCost cost;
  cost.device = time.value();
  return cost;
}

}  // namespace

StageProgram lower_synthetic(const SyntheticSpec& spec, const ParallelPlan& plan, Stage stage) {
  const auto stages = static_cast<std::size_t>(plan.pp);
  const auto chunks = static_cast<std::size_t>(plan.vpp);
  expects(spec.chunks.size() == 1 || spec.chunks.size() == stages * chunks,
          "one synthetic chunk for all or one per chunk and stage");
  StageProgram program;
  program.slices = static_cast<std::uint32_t>(plan.slices);
  const ChunkMap map = plan.chunk_map();
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t entry = spec.chunks.size() == 1 ? 0 : chunk * stages + stage.value;
    const SyntheticChunk& times = spec.chunks[entry];
    const auto code = [&](std::vector<OperatorCost> operators) {
      return Instructions{Compute{add_segment(program, std::move(operators))}};
    };
    ChunkProgram lowered;
    const OperatorCost input = device_time(times.backward_input);
    const OperatorCost weight = device_time(times.backward_weight);
    lowered.forward = lowered.first_forward = code({device_time(times.forward)});
    lowered.backward = lowered.last_backward = code({input, weight});
    lowered.backward_input = code({input});
    lowered.backward_weight = lowered.last_backward_weight = code({weight});
    if (map.after({{chunk}, stage})) lowered.send_forward = spec.boundary;
    if (map.before({{chunk}, stage})) lowered.send_backward = spec.boundary;
    // Each slice takes the times that are given.
    program.chunks.insert(program.chunks.end(), program.slices, lowered);
  }
  return program;
}

}  // namespace stepcast
