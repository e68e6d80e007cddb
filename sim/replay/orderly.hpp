#pragma once
#include <vector>

#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// What the order of a program's instructions says about which of its calls run side by side.
struct Orderly {
  /// [call] Wherever it is issued, the next instruction awaits it, and no prologue issues it: what
  /// is issued later and follows the compute stream begins when it is over.
  std::vector<bool> awaited_at_once;
  /// Streams that have calls, outside of the prologue, which do not wait for the compute stream.
  StreamSet begin_early;
};

Orderly orderly(const StageProgram& program);

}  // namespace stepcast
