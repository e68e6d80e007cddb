#pragma once
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// The expected pace of a job whose devices differ, by order statistics and without a draw
/// (docs/models/spread.md, "The expected step").
namespace stepcast {

/// Devices of one node that have the same work in a step.
struct NodeShare {
  double work = 0;  ///< [s] at factor 1
  std::uint32_t devices = 0;
  friend auto operator<=>(const NodeShare&, const NodeShare&) = default;
};
/// Nodes that are alike.
struct NodeMix {
  std::vector<NodeShare> shares;
  double nodes = 0;
};

/// [s] The work of the device that has most of it, when the factors of all are those of the fleet:
/// its mean, and what one fleet of ten is below and above.
struct SlowestWork {
  double mean = 0, low = 0, high = 0;
};
SlowestWork slowest_work(const FleetSpec& fleet, const std::vector<NodeMix>& mixes);

/// The factors on device and host time at which a job of equal devices takes what this one takes on
/// average; on device time also for one fleet of ten below and above.
struct FleetPace {
  SpeedFactors mean;
  double low = 1, high = 1;
};
FleetPace fleet_pace(const FleetSpec& fleet, const Placement& placement,
                     const std::vector<StageProgram>& programs, const PipelineShape& shape,
                     const StallPlan& own, std::int64_t node_devices);

/// The least mean that the slowest of so many devices can have, however they lie on nodes, over
/// one of factor 1.
double least_slowest(const FleetSpec& fleet, std::int64_t devices, std::int64_t node_devices);
/// A pace of devices that the mean of no fleet_pace() is below, whatever the programs are.
double least_pace(double least_slowest_of_stage, const PipelineShape& shape);

}  // namespace stepcast
