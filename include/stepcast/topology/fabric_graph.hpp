#pragma once
#include <boost/graph/adjacency_list.hpp>
#include <string>

#include "stepcast/topology/fabric.hpp"

/// The fabric as a graph: a view for flows, cuts, drawings and tests. It stands apart from
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

/// The largest flow between the first devices and the rest, from max-flow.
struct Bisection {
  BytesPerSecond bandwidth{0};
  std::int64_t first = 0;    ///< so many devices stand on the first side
  std::int64_t smaller = 1;  ///< devices of the smaller side, by which the bandwidth is divided

  BytesPerSecond per_device() const { return bandwidth / static_cast<double>(smaller); }
};

/// The worst cut along the tiers: half of the pods, of the super-nodes, of the nodes from
/// the rest, whichever leaves a device of the smaller side less. One node is halved by devices; one
/// device has no halves (0).
Bisection bisection(const Fabric& fabric);

/// Writes the graph for Graphviz, with one line per vertex and directed link.
std::string fabric_dot(const Fabric& fabric);

}  // namespace stepcast
