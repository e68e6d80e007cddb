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

void describe(Visitor& visitor, SyntheticSpec& spec) {
  constexpr Range time_range = between(0, 1e6);
  // One entry for all chunks keeps balanced pipelines short.
  visitor.list(
      "chunks", "one entry for all, or one per virtual stage (chunk * pp + stage)",
      spec.chunks.size(), [&](std::size_t size) { spec.chunks.resize(size); },
      [&](Visitor& v, std::size_t i) {
        SyntheticChunk& chunk = spec.chunks[i];
        v.field({"forward", &chunk.forward, "time of one forward unit", time_range, true});
        v.field({"backward_input", &chunk.backward_input, "time of the gradient of the input",
                 time_range, true});
        v.field({"backward_weight", &chunk.backward_weight, "time of the gradient of the weights",
                 time_range});
      });
  visitor.field({"boundary", &spec.boundary, "bytes of one pipeline transfer", between(0, 1e18)});
  // A latency alone replaces the network, so that closed forms of pipelines can be compared without
  // one.
  visitor.field({"boundary_latency",
                 OptionalTime{&spec.boundary_latency, &spec.boundary_latency_given, "none"},
                 "replaces the network for that transfer", time_range});
}

}  // namespace stepcast
