#pragma once
#include "stepcast/workloads/segment.hpp"

namespace stepcast {

/// How much earlier the host threads of a rank would be free had they compiled nothing: the
/// time of compiling that no stall has shown yet, and that nothing the host waited for has taken
/// up. A stall is the compiling's as far as it would not be there without the lag, and what it
/// shows is taken from the lag, so that a second of compiling counts once at most. Nothing that
/// was compiled, no lag. Derivation: docs/models/fusion.md, "Kernels for new shapes".
struct CompileLag {
  double main = 0, worker = 0;  ///< >= 0 [s]

  /// The main thread is free at `free` and waits for what is there at `date`.
  void wait(double free, double date);
  /// The main thread waits until all `clocks` are reached, as host_sync().
  void synchronise(const Clocks& clocks);
  /// The host issues a communication at these clocks. Returns how much earlier it would be there.
  double issue_communication(const Clocks& clocks, const OperatorCost& cost, double host_factor);
  /// The host issues an operator. Returns how much of the device's wait for it is there because of
  /// compiling, which is taken from the lag.
  double issue(const Clocks& clocks, const OperatorCost& op, double host_factor);
  /// So much of it was seen.
  void take(double shown);
};

}  // namespace stepcast
