#pragma once
#include "stepcast/sim/sweep/sweep_report.hpp"

namespace stepcast {

/// The curves of `validation/curves.csv`, in the presets, whose first row has the model and the
/// device of the first point of a sweep, and which scale as it does (weak or strong). Each is set
/// on the curve of the table at its first size between the smallest and the largest of the table,
/// and has the sizes from there on. Nothing without such a file, such rows, or an efficiency.
std::vector<PublishedCurve> published_curves(const Sweep& sweep, const PointTable& table,
                                             const SearchPath& search);

}  // namespace stepcast
