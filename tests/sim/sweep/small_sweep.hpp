#pragma once
#include <string>

#include "temporary_files.hpp"

namespace stepcast::test {

/// A pipeline of equal stages on an ideal cluster, and a sweep of it in the same folder.
inline constexpr std::string_view sweep_base = R"(# question: what is swept?
stepcast: 1
name: base
cluster: {extends: clusters/ideal.yaml, devices: 8}
workload:
  chunks:
    - {forward: 1ms, backward_input: 1ms, backward_weight: 1ms}
  boundary: 0B
parallel: {tp: 1, pp: 4, dp: auto}
training: {global_batch: 16, micro_batch: 1}
schedule: {pipeline: 1f1b}
)";

inline constexpr std::string_view small_sweep = R"(# question: does a sweep find its points?
stepcast: 1
name: small-sweep
sweep:
  base: base.yaml
  grid:
    cluster.devices: [8, 16, 24]
    parallel.pp: [2, 4]
  keep: {tokens_per_device: constant}
  baseline: {cluster.devices: 8}
)";

/// Writes both files and gives the path of the sweep.
inline std::string write_sweep(const TemporaryFiles& files, std::string_view sweep = small_sweep) {
  files.write("base.yaml", sweep_base);
  return files.write("sweep.yaml", sweep);
}

}  // namespace stepcast::test
