#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <string>

#include "stepcast/topology/fabric.hpp"

/// This is the fabric as a graph: a view for flows, cuts, drawings and tests. It stands apart from
/// fabric.hpp, which nearly every file reads and Boost.Graph would slow down.
namespace stepcast {

/// Vertices are devices, then switches; edges carry the LinkId and the usable bandwidth [B/s].
struct FabricVertex {
  std::string name;
};
struct FabricEdge {
  LinkId link;
  double bandwidth;
};
using FabricGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                          FabricVertex, FabricEdge>;

/// The graph has all links of the fabric; a failed one is left out.
FabricGraph fabric_graph(const Fabric& fabric);

/// This is the largest flow between the two halves of the devices (by index, whole nodes), from
/// max-flow [B/s]. One node is halved by devices; one device has no halves (0).
BytesPerSecond bisection_bandwidth(const Fabric& fabric);

/// This writes the graph for Graphviz, with one line per vertex and directed link.
std::string fabric_dot(const Fabric& fabric);

}  // namespace stepcast
