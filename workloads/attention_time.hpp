#pragma once
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {

/// The time of a fused attention kernel by its cube and vector work alone [s], without ramp and
/// memory (docs/models/kernels.md, "Attention").
Seconds attention_compute_time(const Operator& op, const AttentionWork& work,
                               const DeviceSpec& device);

/// No kernel is shorter, behind its ramp: the start of a memory-bound one, and on one core the tile
/// of `attention.tile` rows that sees most keys [s]; zero where the device states no tile.
Seconds shortest_attention(const Operator& op, const AttentionWork& work, const DeviceSpec& device);

}  // namespace stepcast
