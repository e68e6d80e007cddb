#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "stepcast/base/units.hpp"
#include "stepcast/topology/kernel_efficiency.hpp"

/// `device` of a cluster file as values.
namespace stepcast {

/// There is one time per operator class.
struct OperatorClassTimes {
  Seconds matmul{0};
  Seconds vector{0};
  Seconds communication{0};
};

/// What a fused attention kernel keeps of its softmax per head and token: one FP32 number
/// (`compact`), or maximum and sum eight times each (`wide`, Ascend's FlashAttentionScore).
enum class SoftmaxState { compact, wide };

/// The clock of a device falls when it has no work, and takes a while to come back. Model:
/// docs/models/clocks.md.
struct IdleClock {
  double speed = 1;       ///< idle clock over that at work
  Seconds hold{0};        ///< time without work before the clock falls
  Seconds ramp{0};        ///< time at the idle clock after work comes back
  double core_share = 1;  ///< part of device time that follows the clock; memory keeps its own

  /// The factor on the time of work at the idle clock.
  double slowness() const { return core_share / speed + 1 - core_share; }
};

/// The clock of a device whose products are held by a power limit (MatmulEfficiency::sustained) is
/// higher after lighter work: what that leaves of the limit is saved up. Draws are parts of what
/// the limit leaves above a device without work. Model: docs/models/clocks.md.
struct PowerCap {
  Seconds window{0};     ///< at the limit, that can be saved up at most
  double attention = 1;  ///< drawn by fused attention
  double other = 1;      ///< drawn by kernels without products
  double waiting = 0;    ///< drawn without work
};

/// What a device takes in a step, by what it does [W]. Model: docs/models/clocks.md.
struct PowerSpec {
  double idle = 0;
  double computing = 0;
  double communicating = 0;  ///< waiting for a communication that moves data
  double overhead = 1;       ///< of node and building, on the power of its devices
};

/// One accelerator. Peaks are dense and per device [FLOP/s], memory in bytes and bytes per second.
struct DeviceSpec {
  std::string name;
  /// What rules of frameworks ask for, and the framework of scenarios that name none: words, on
  /// which no forecast depends by itself.
  std::string vendor = "unknown", generation = "unknown", framework = "none";
  FlopsPerSecond matmul_peak{0};      ///< dense BF16/FP16 on the cube cores
  FlopsPerSecond matmul_peak_fp8{0};  ///< 0: the device has no FP8
  bool mxfp8 = true;                  ///< FP8 products take a scale for each 32 numbers
  FlopsPerSecond vector_peak{0};
  std::int64_t cube_cores = 1;
  std::int64_t vector_cores = 1;
  Bytes memory_capacity{0};
  BytesPerSecond memory_bandwidth{0};
  Bytes vector_memory{0};   ///< on chip, of one vector core; 0: no limit is known
  Bytes memory_reserve{0};  ///< taken by runtime and driver before the model
  SoftmaxState softmax_state = SoftmaxState::compact;
  EfficiencySpec efficiency;
  /// Clock in a step, with all devices of the node busy, over that of a kernel measured alone.
  double step_clock = 1;
  OperatorClassTimes launch;         ///< fixed cost of each operator or transfer on its stream
  Seconds tile_task{0};              ///< start of one task of a kernel that runs already
  std::int64_t product_streams = 1;  ///< pieces of one product that run at a time
  /// The time of an operator beside a communication over its time alone: they share the
  /// memory, and some collectives run on vector cores.
  double interference_matmul = 1;
  std::optional<IdleClock> idle_clock;  ///< none: the clock never falls
  std::optional<PowerCap> power_cap;    ///< none: the power limit holds every product alike
  std::optional<PowerSpec> power;       ///< none: energy is not forecast
};

}  // namespace stepcast
