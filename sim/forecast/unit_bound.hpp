#pragma once
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// A step of which nothing shares a link: one class for each stage (map_without_contention()).
struct LoneStepInput {
  const std::vector<StageProgram>& programs;  ///< [stage]
  const NetworkMap& network;
  PipelineShape shape;
  const std::vector<StageOrder>& orders;  ///< [stage]
  ScheduleSpec::PointToPoint p2p = ScheduleSpec::PointToPoint::overlapped;
  double slowing = 1;  ///< factor on device times
};

/// No replay of the step is shorter [s]. Every unit takes what its code takes on a free device
/// whose host keeps ahead, and waits for its inputs; each kind of unit is run once and then
/// counted. The first forwards, the last backwards and what stands around the units are run with
/// the streams as they are then (docs/models/plan.md).
double unit_bound(const LoneStepInput& input);

}  // namespace stepcast
