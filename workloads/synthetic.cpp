#include "stepcast/workloads/program.hpp"

namespace stepcast {

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
