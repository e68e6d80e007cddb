#pragma once
#include <optional>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/data_plan.hpp"
#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/sim/replay/timeline.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// The programs and hosts of a cluster whose nodes differ.
struct KindPrograms {
  std::vector<std::vector<StageProgram>> programs;  ///< [kind][stage], alike but for their times
  std::vector<HostSpec> hosts;                      ///< [kind]
  std::vector<std::uint32_t> of_rank;               ///< [rank] its kind
};

/// The input is everything that one replay needs; all of it is checked and outlives the call.
struct ReplayInput {
  const std::vector<StageProgram>& programs;  ///< [stage]
  const NetworkMap& network;
  const HostSpec& host;
  PipelineShape shape;
  const std::vector<StageOrder>& orders;  ///< [stage], without order_faults()
  ScheduleSpec::PointToPoint p2p = ScheduleSpec::PointToPoint::overlapped;
  std::optional<Seconds>
      boundary_latency;                   ///< replaces the network for pipeline transfers when set
  const StallPlan* stalls = nullptr;      ///< nothing: no rank stalls
  std::int64_t steps = 1;                 ///< replayed one after another, at least 1
  bool skip_recurring = true;             ///< micro-batches that repeat others exactly, once each
  const AttentionLoads* loads = nullptr;  ///< nothing: attention over whole sequences
  const KindPrograms* kinds = nullptr;    ///< nothing: `programs` and `host` are everybody's
  Sharing sharing = Sharing::automatic;
  bool await_inputs = true;       ///< false: no stage waits for another, the ideal without a bubble
  Recording* record = nullptr;    ///< filled when there is one; then nothing is skipped
  RecordedClasses recorded = {};  ///< of them it has every entry
};

/// Says whether micro-batches may repeat others exactly: nothing random or dated stands in the way.
bool may_recur(const ReplayInput& input);

/// Executes the programs of all rank classes over the steps: host threads issue, streams run
/// in order, collectives start when their last member arrives, flows share links on the engine
/// (docs/models/replay.md). Throws EngineError when ranks wait for each other for ever, naming the
/// first of them and what it waits for.
Timeline replay(const ReplayInput& input);

}  // namespace stepcast
