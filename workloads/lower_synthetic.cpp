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
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t virtual_stage = chunk * stages + stage.value;
    const SyntheticChunk& times = spec.chunks[spec.chunks.size() == 1 ? 0 : virtual_stage];
    ChunkProgram& lowered = program.chunks.emplace_back();
    lowered.forward = {Compute{add_segment(program, {device_time(times.forward)})}};
    lowered.backward = {Compute{add_segment(
        program, {device_time(times.backward_input), device_time(times.backward_weight)})}};
    lowered.first_forward = lowered.forward;
    lowered.last_backward = lowered.backward;
    if (virtual_stage + 1 < stages * chunks) lowered.send_forward = spec.boundary;
    if (virtual_stage > 0) lowered.send_backward = spec.boundary;
  }
  return program;
}

}  // namespace stepcast
