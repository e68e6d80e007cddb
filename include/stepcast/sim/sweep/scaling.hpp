#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/sweep/sweep.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"

namespace stepcast {

/// The seconds that each part of a step lost against perfect scaling of the baseline, by
/// breakdown_names(): its time minus the baseline's time x tokens per device / those of the
/// baseline (samples for a synthetic workload). They add up to step time minus ideal step time.
/// They are empty where the point or its baseline is not simulated.
std::vector<std::vector<double>> scaling_losses(const Sweep& sweep,
                                                const std::vector<PointResult>& rows);

/// The table of the points and what grows, part by part.
std::string scaling_table(const Sweep& sweep, const PointTable& table);

/// The SVG has two diagrams: efficiency over devices, one line per combination of the other values;
/// and the parts of the step at each simulated point.
std::string scaling_svg(const Sweep& sweep, const PointTable& table);

/// The curves of `validation/curves.csv`, in the presets, whose first row has the model and the
/// device of the first point of a sweep, and which scale as it does (weak or strong). Each is set
/// on the curve of the table at its first size between the smallest and the largest of the table,
/// and has the sizes from there on. Nothing without such a file, such rows, or an efficiency.
std::vector<PublishedCurve> published_curves(const Sweep& sweep, const PointTable& table,
                                             const SearchPath& search);

}  // namespace stepcast
