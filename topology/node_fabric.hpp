#pragma once
#include "stepcast/topology/cluster_spec.hpp"

/// Keys of the wires of a node.
namespace stepcast {

// Wide enough for any hardware, narrow enough that no time can overflow.
inline constexpr Range time_range = between(0, 1e6);
inline constexpr Range rate_range = between(1, 1e24);

void describe_dimensions(Visitor& visitor, std::vector<GridDimension>& dimensions);
void describe_graph(Visitor& visitor, GraphFabric& graph);

}  // namespace stepcast
