#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"

/// What a recorded run used over time.
namespace stepcast {

/// The bytes on a device of a stage from `time` on.
struct MemoryMoment {
  double time;
  double bytes;
};
/// Follows from the forwards that a rank class holds: parameters, gradients, optimizer and
/// buffers, and the activations of each micro-batch from the begin of its forward to the end of its
/// backward. It is empty for a synthetic workload (docs/models/memory.md).
std::vector<MemoryMoment> memory_over_time(const Scenario& scenario, const RecordedRun& run,
                                           std::uint32_t rank_class);

/// Says how much of what a class of links can carry it carries over the step.
struct LinkUsage {
  LinkKind kind;
  std::string name;           ///< of the first link
  std::uint32_t count = 0;    ///< links that are used alike
  double bandwidth = 0;       ///< [B/s]
  double bytes = 0;           ///< over each link in the run
  double mean = 0;            ///< share of the bandwidth, over the run
  std::vector<double> share;  ///< of the bandwidth, in equal parts of the run
  /// Stages whose communication makes a quarter of the bytes or more, ascending; empty where not
  /// every class is recorded.
  std::vector<std::int64_t> stages = {};
};
/// There is one per class of links, by kind, then busiest first. A collective loads its links
/// evenly while it lasts; world collectives that run alone are left out. `parts` >= 1.
std::vector<LinkUsage> link_usage(const RecordedRun& run, std::size_t parts);

}  // namespace stepcast
