#pragma once
#include <array>
#include <string_view>

#include "stepcast/workloads/program.hpp"

/// Words of graph files for what has no other name.
namespace stepcast::graph {

inline constexpr std::array<std::string_view, streams> stream_names{
    "tensor", "expert", "data", "context", "expert_outer", "to_host", "from_host"};
inline constexpr std::array<std::string_view, 3> placement_names{"loop", "v_shape",
                                                                 "bidirectional"};
inline constexpr std::array<std::string_view, 4> unit_names{"F", "B", "b", "w"};

}  // namespace stepcast::graph
