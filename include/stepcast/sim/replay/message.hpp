#pragma once
#include <cstdint>
#include <limits>

#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

inline constexpr double unknown_time = std::numeric_limits<double>::infinity();

/// A pipeline message and, at the receiver, when it moved.
struct Message {
  bool gradient;  ///< or an output
  MicroBatch micro_batch;
  Chunk chunk;  ///< of the unit that consumes it
  SequenceSlice slice;
  double start = unknown_time, arrival = unknown_time;
  std::uint32_t recorded = Recording::none;  ///< in Recording::communications
  bool same_unit(const Message& o) const {
    return gradient == o.gradient && micro_batch == o.micro_batch && chunk == o.chunk &&
           slice == o.slice;
  }
};

}  // namespace stepcast
