#pragma once
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {

/// The time of a fused attention kernel by its cube and vector work alone [s], without ramp and
/// memory (docs/models/kernels.md, "Attention").
Seconds attention_compute_time(const Operator& op, const AttentionWork& work,
                               const DeviceSpec& device);

/// The time of one tile of `attention.tile` rows on one core, of the tile that sees most keys [s];
/// zero where the device states none.
Seconds attention_tile_time(const Operator& op, const AttentionWork& work,
                            const DeviceSpec& device);

}  // namespace stepcast
