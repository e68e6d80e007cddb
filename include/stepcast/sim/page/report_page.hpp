#pragma once
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// A recorded run as one HTML page that needs no network: headline numbers, breakdown,
/// pipeline, memory, links, critical path, assumptions and the resolved scenario. What it shows:
/// docs/report.md. Every rank class must be recorded.
std::string report_page(const Scenario& scenario, const RecordedRun& run);

}  // namespace stepcast
