#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/report/run_operators.hpp"

/// One step of one rank as a profiler shows it: kernels and communications with their
/// times (docs/trace.md, "kernel_details.csv").
namespace stepcast {

/// One kernel, or one communication from when the rank has reached it to its end.
struct TracedKernel {
  std::string name;
  std::string of;  ///< name(KernelClass), name(CollectiveKind), `send`, `receive` or `copy`
  bool communication = false;
  std::string stream;
  double start = 0, duration = 0;  ///< since the start of the step, or as a profiler counts [s]
};

/// Kernels of one rank in one step, in the order of their begins. Times in seconds.
struct KernelTrace {
  std::vector<TracedKernel> kernels;  ///< by start
  double step = 0;                    ///< from the end of the step before to the end [s]
};

/// The last step of a rank. The start of a kernel on its stream (device.launch) is a gap before it,
/// as a profiler has it. The class of the rank must be recorded; expects(rank < devices).
KernelTrace kernel_trace(const Scenario& scenario, const RecordedRun& run, Rank rank);

/// What the Ascend profiler calls a class, in its column Type.
const char* profiler_type(KernelClass which);
/// The trace with the columns of kernel_details.csv, in microseconds.
std::string kernel_details_csv(const KernelTrace& trace, Rank rank);

}  // namespace stepcast
