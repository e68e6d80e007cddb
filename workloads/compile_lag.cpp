#include "stepcast/workloads/compile_lag.hpp"

#include <algorithm>

namespace stepcast {

/// Waiting takes a lag up: without it the host would have waited for that much longer.
void CompileLag::wait(double free, double date) { main = std::clamp(free - date, 0.0, main); }

void CompileLag::synchronise(const Clocks& clocks) {
  // When the host would be through had it compiled nothing.
  const double prompt = std::max({clocks.main - main, clocks.worker - worker, clocks.device});
  main = std::max({clocks.main, clocks.worker, clocks.device}) - prompt;
}

/// The second thread is held up by what the main one compiled as far as it has nothing else to do.
double CompileLag::issue_communication(const Clocks& clocks, const OperatorCost& cost,
                                       double host_factor) {
  main += host_factor * cost.compile;
  const double handed_over = clocks.main + host_factor * cost.main;
  // Equation (2) of docs/models/segments.md, with and without the lags of both threads.
  worker =
      std::max(clocks.worker, handed_over) - std::max(clocks.worker - worker, handed_over - main);
  return worker;
}

double CompileLag::issue(const Clocks& clocks, const OperatorCost& op, double host_factor) {
  const double late = issue_communication(clocks, op, host_factor);
  const double ready = issue_operator(clocks, op, {1, host_factor}).worker + op.launch;
  // No more than the device waits for the host, and no more than compiling has made it late.
  const double shown = std::clamp(ready - clocks.device, 0.0, late);
  take(shown);
  return shown;
}

void CompileLag::take(double shown) {
  main = std::max(0.0, main - shown);
  worker = std::max(0.0, worker - shown);
}

}  // namespace stepcast
