#pragma once
#include "stepcast/base/units.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

/// Device time of one operator [s]: max of its compute time (by cost class) and bytes / effective
/// HBM bandwidth, without launch. `fp8` selects the FP8 peak for matmuls where the device has one.
/// Forms and sources: docs/models/operators.md.
Seconds operator_time(const Operator& op, const DeviceSpec& device, bool fp8);

}  // namespace stepcast
