#pragma once
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// A recorded run as one HTML page that needs no network: headline numbers, breakdown,
/// pipeline, memory, links, critical path, assumptions and the resolved scenario. What it shows:
/// docs/report.md. Every rank class must be recorded.
std::string report_page(const Scenario& scenario, const RecordedRun& run);

/// The timeline of that page as a JSON object: `end` and `shortest_wait` in seconds, and `rows[]`
/// with `name`, `units` (flat: start, end, kind, micro-batch, chunk) and `waits` (flat: start, end,
/// kind). Kinds: docs/formats.md.
std::string timeline_json(const Scenario& scenario, const RecordedRun& run);

}  // namespace stepcast
