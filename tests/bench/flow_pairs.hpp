#pragma once
#include <cstddef>

namespace stepcast::bench {

/// A load of `flows` flows in which none is ever alone: on each of `links` equal links two flows
/// are under way, and when one ends the next one starts. Flow i runs over link i modulo `links`.
struct FlowPairs {
  std::size_t flows;
  std::size_t links;

  static constexpr double bandwidth = 25e9;  ///< of each link [B/s]
  std::size_t link_of(std::size_t flow) const { return flow % links; }
  std::size_t at_once() const { return 2 * links; }
  /// Between 1 and 2 MB, so that flows do not end together.
  static double bytes(std::size_t flow) {
    return 1e6 * (1 + static_cast<double>(flow * 7919 % 1009) / 1009);
  }
};

struct LoopTime {
  double wall = 0;  ///< of the run, without building the platform [s]
  double end = 0;   ///< on the simulated clock [s]
};

/// The load on SimGrid alone, as plain as its public interface allows: no actors, the end of a flow
/// starts the next. Once per process.
LoopTime run_simgrid_loop(const FlowPairs& load);

}  // namespace stepcast::bench
