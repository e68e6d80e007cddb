#pragma once
#include "lowered_steps.hpp"

/// Stages whose devices have a link to their host, and what passes over it.
namespace stepcast::lowering {

inline ClusterSpec cluster_with_link() {
  ClusterSpec cluster = plain_cluster();
  cluster.host.device_link_bandwidth = BytesPerSecond{50e9};
  cluster.host.device_link_latency = Seconds{2e-6};
  return cluster;
}

inline StageProgram lowered_with_link(const WorkloadSpec& spec,
                                      const ClusterSpec& cluster = cluster_with_link()) {
  return lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
}

struct Moved {
  double out = 0, in = 0, seconds = 0;
  int calls = 0;
};

inline Moved moved(const StageProgram& program, const Instructions& code) {
  Moved sum;
  for (const Instruction& i : code) {
    const auto* start = std::get_if<Communicate>(&i);
    if (start == nullptr || !program.calls[start->call].over_host_link()) continue;
    const StageCall& call = program.calls[start->call];
    (call.stream == Stream::to_host ? sum.out : sum.in) += call.call.bytes.value();
    sum.seconds += call.host_link.value();
    ++sum.calls;
  }
  return sum;
}

}  // namespace stepcast::lowering
