#pragma once
#include "stepcast/base/units.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

/// This is the device time of one operator [s]: the maximum of its compute time (by cost class) and
/// bytes / effective HBM bandwidth, without launch. `fp8` says that the step is in FP8, so that the
/// products that take FP8 run at the FP8 peak where the device has one. Forms and sources:
/// docs/models/operators.md.
Seconds operator_time(const Operator& op, const DeviceSpec& device, bool fp8);

}  // namespace stepcast
