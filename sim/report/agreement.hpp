#pragma once
#include <string_view>

namespace stepcast {

/// How far the fast engine is from the judge, as scripts/judge --record found last.
inline constexpr std::string_view agreement =
    "SimGrid 3.32 alone agrees to 1.9e-08 on 29 runs (2026-11-28)";

}  // namespace stepcast
