#pragma once
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// The run as `cluster_step_trace_time.csv`, the table that the Ascend profiling tools make
/// of a cluster's profiles: a row per rank and step, then one per pipeline stage with the largest
/// of its ranks, in microseconds. Arithmetic and what stands for a kernel: docs/trace.md. Every
/// rank class must be recorded.
std::string step_trace_csv(const Scenario& scenario, const RecordedRun& run);

}  // namespace stepcast
