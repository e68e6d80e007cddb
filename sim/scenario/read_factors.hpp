#pragma once
#include "stepcast/base/section.hpp"
#include "stepcast/sim/scenario/spread_spec.hpp"

namespace stepcast {

/// Reads the factors of every empirical law of `stalls.spread` from the file that it names.
/// What is wrong goes to `reading`, at the line of the file or where the scenario names it.
void read_factors(const Node& root, const SearchPath& search, SpreadSpec& spread, Reading& reading);

}  // namespace stepcast
