#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// Writes a recorded run as Chrome trace events (JSON), piece by piece to `out`: a process per
/// rank class, a thread each for the host, the compute stream and the communication streams, arrows
/// for transfers and rendezvous, counters for memory and links; of rank classes it takes the first
/// `ranks`. It opens in ui.perfetto.dev and chrome://tracing. Fields and names: docs/trace.md.
/// Times are microseconds.
void write_trace(const Scenario& scenario, const RecordedRun& run, std::uint32_t ranks,
                 const std::function<void(std::string_view)>& out);

/// The run as `cluster_step_trace_time.csv`, the table that the Ascend profiling tools make
/// of a cluster's profiles: a row per rank and step, then one per pipeline stage with the largest
/// of its ranks, in microseconds. Arithmetic and what stands for a kernel: docs/trace.md. Every
/// rank class must be recorded.
std::string step_trace_csv(const Scenario& scenario, const RecordedRun& run);

}  // namespace stepcast
