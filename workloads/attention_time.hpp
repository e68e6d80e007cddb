#pragma once
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {

/// The time of a fused attention kernel by its cube and vector work alone [s], without ramp and
/// memory (docs/models/operators.md, "Attention kernels").
Seconds attention_compute_time(const Operator& op, const AttentionWork& work,
                               const DeviceSpec& device);

}  // namespace stepcast
