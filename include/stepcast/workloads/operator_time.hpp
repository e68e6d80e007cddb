#pragma once
#include <cstdint>
#include <span>

#include "stepcast/base/units.hpp"
#include "stepcast/topology/device_spec.hpp"
#include "stepcast/workloads/operators.hpp"

namespace stepcast {

/// The device time of one operator [s], without launch: its kernel's ramp, and the maximum
/// of its compute time (by cost class) and of its bytes / effective HBM bandwidth. `fp8` says that
/// the step is in FP8, so that the products that take FP8 run at the FP8 peak where the device has
/// one. Forms and sources: docs/models/operators.md.
Seconds operator_time(const Operator& op, const DeviceSpec& device, bool fp8);

/// The part of the device's power limit above idle that an operator draws at the full clock, on the
/// mean of its time. Above 1 the limit holds it: operator_time() is this many times what the full
/// clock would take. The device has a power cap. Model: docs/models/clocks.md.
double power_draw(const Operator& op, const DeviceSpec& device, bool fp8);

/// What a fused attention kernel loses on each query, over what it works on each query: time is
/// proportional to 1 + this. The device has numbers for the kernel's generation.
double attention_loss(const Operator& op, const AttentionWork& work, const DeviceSpec& device);
/// The numbers of the pass that the work is.
const AttentionPass& attention_pass(const AttentionWork& work, const DeviceSpec& device);

/// Cube and vector cores of one device share the work inside one kernel
/// (docs/models/expert_parallel.md): a stage says what every tile does there, and on which cores.
struct TileStage {
  enum class Cores { cube, vector };
  Cores cores;
  Seconds time;  ///< of one tile
};

/// The time until `tiles` equal tiles have passed all stages in order, each kind of cores
/// working on one task at a time: a list schedule in which free cores take the task that can start
/// first, of the oldest tile. One tile takes the sum of its stages; many take no less than the
/// busier cores.
Seconds tile_pipeline_time(std::span<const TileStage> stages, std::int64_t tiles);

}  // namespace stepcast
