#pragma once
#include <cstdint>
#include <vector>

#include "lane_queue.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {

/// One thing that a rank of a stage does, in the order in which it does them. No time decides on
/// that order, so that all seeds have it in common.
struct StepOp {
  enum class Kind : std::uint8_t {
    compute,
    communicate,
    wait,
    sync,          ///< the host waits for the compute stream
    sync_of_copy,  ///< or for its last copy
    copy,
    receive,
    send,
    settle  ///< until what was sent has arrived
  };
  Kind kind;
  bool after_compute = false;  ///< of a communication
  Channel channel{};           ///< of a send
  std::uint32_t index = 0;     ///< segment, call, or message at the receiver
  std::uint32_t slot = 0;
};

/// All of a step of one stage, with what its devices work before the next thing that others on the
/// links could feel.
struct StepCode {
  std::vector<StepOp> ops;
  std::vector<double> ahead;  ///< [op] from its begin on, at factor 1 [s]; infinite at the end
  QueuePlan queue;
};

/// The code of a stage for ranks that run that variant of its program. `shared[s]`:
/// communications of that stream may meet others on links.
StepCode step_code(const ReplayInput& input, Stage stage, std::uint32_t variant,
                   const std::vector<bool>& shared);

}  // namespace stepcast
