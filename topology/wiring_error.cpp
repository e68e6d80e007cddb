#include <algorithm>
#include <set>

#include "stepcast/base/text.hpp"
#include "stepcast/topology/node_wires.hpp"

/// What a file may say about the wires of a node.
namespace stepcast {
namespace {

using Wrong = std::optional<std::string>;

Wrong grid_error(const std::vector<GridDimension>& dimensions, std::int64_t devices, bool rings,
                 std::string& key) {
  key = "dimensions";
  // Doubles, so that sides of any size cannot overflow before the check.
  double product = 1, wires = 0;
  std::string sides;
  for (const GridDimension& dimension : dimensions) {
    product *= static_cast<double>(dimension.size);
    // A device of a ring has two neighbours on a side, one of a full mesh all others of the side.
    wires += rings ? 2 : static_cast<double>(dimension.size - 1);
    sides += (sides.empty() ? "" : " x ") + std::to_string(dimension.size);
  }
  if (product != static_cast<double>(devices))
    return "make " + sides + " = " + shortest(product) +
           " devices, allowed: sides whose product is " + "node.devices (" +
           std::to_string(devices) + ")";
  if (product * wires > static_cast<double>(most_wires))
    return "make " + shortest(product * wires) + " wires, allowed: at most " +
           std::to_string(most_wires);
  return std::nullopt;
}

/// Every device reaches every other one.
bool joined(const GraphFabric& graph, std::int64_t vertices, std::int64_t devices) {
  // Union-find: links merge the parts that they join; one part must hold all devices.
  std::vector<std::int64_t> part(static_cast<std::size_t>(vertices));
  for (std::size_t v = 0; v < part.size(); ++v) part[v] = static_cast<std::int64_t>(v);
  const auto root = [&](std::int64_t v) {
    while (part[static_cast<std::size_t>(v)] != v) v = part[static_cast<std::size_t>(v)];
    return v;
  };
  for (const GraphLink& link : graph.links)
    part[static_cast<std::size_t>(root(link.between[0]))] = root(link.between[1]);
  for (std::int64_t d = 1; d < devices; ++d)
    if (root(d) != root(0)) return false;
  return true;
}

Wrong graph_error(const GraphFabric& graph, std::int64_t devices, std::string& key) {
  const std::int64_t vertices = devices + graph.switches;
  key = "switches";
  // Ways are a table of vertices times devices, four bytes each.
  if (vertices > most_graph_vertices)
    return "make " + std::to_string(vertices) + " devices and switches, whose ways would take " +
           shortest(static_cast<double>(vertices) * static_cast<double>(devices) * 4e-6) +
           " MB, allowed: at most " + std::to_string(most_graph_vertices);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    const std::vector<std::int64_t>& ends = graph.links[l].between;
    // The key is set ahead of each check, so that an error names the place it was found at.
    key = "links." + std::to_string(l) + ".between";
    if (ends.size() != 2)
      return "has " + std::to_string(ends.size()) + " ends, allowed: 2, such as [0, 1]";
    if (std::max(ends[0], ends[1]) >= vertices || ends[0] == ends[1])
      return "is [" + std::to_string(ends[0]) + ", " + std::to_string(ends[1]) +
             "], allowed: two of 0 to " + std::to_string(vertices - 1) + " (the " +
             std::to_string(devices) + " devices of a node, then its switches)";
    // A second link between the same two could not be told apart by its name.
    if (!seen.insert(std::minmax(ends[0], ends[1])).second)
      return "is joined by a link before, allowed: one link for each pair";
  }
  key = "links";
  if (!joined(graph, vertices, devices))
    return "leave some device without a way to device 0, allowed: links that join all devices";
  return std::nullopt;
}

}  // namespace

Wrong wiring_error(const NodeFabric& fabric, std::int64_t devices, std::string& key) {
  // Of other fabrics nothing can be wrong here: their links follow from the number of devices.
  if (const auto* torus = std::get_if<TorusFabric>(&fabric))
    return grid_error(torus->dimensions, devices, true, key);
  if (const auto* mesh = std::get_if<FullMeshFabric>(&fabric))
    return grid_error(mesh->dimensions, devices, false, key);
  if (const auto* graph = std::get_if<GraphFabric>(&fabric))
    return graph_error(*graph, devices, key);
  return std::nullopt;
}

}  // namespace stepcast
