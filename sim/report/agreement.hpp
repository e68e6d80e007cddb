#pragma once
#include <string_view>

namespace stepcast {

/// How far the fast engine is from the judge, as scripts/judge --record found last.
inline constexpr std::string_view agreement =
    "SimGrid 3.32 alone, 29 runs at 236cf2b2b348: apart by at most 1.9e-08 of the step";

}  // namespace stepcast
