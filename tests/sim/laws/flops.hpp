#pragma once
#include <string>
#include <vector>

#include "random_scenario.hpp"

namespace stepcast::laws {

/// Laws of executed FLOPs that a case breaks: they depend on neither schedule nor rank order, on
/// slices as docs/models/laws.md says. Nothing is replayed.
std::vector<std::string> broken_flops(const ValidCase& c);

}  // namespace stepcast::laws
