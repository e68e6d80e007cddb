#include "node_fabric.hpp"

#include "stepcast/base/errors.hpp"
#include "stepcast/base/overloaded.hpp"

/// What joins the devices of a node, as the rest of the program asks for it.
namespace stepcast {
namespace {

// A grid whose dimensions are still to be read has no link yet.
LinkSpec first_link(const std::vector<GridDimension>& dimensions) {
  return dimensions.empty() ? LinkSpec{} : dimensions.front().link;
}

void describe_wire(Visitor& visitor, LinkSpec& spec) {
  visitor.field({"bandwidth", &spec.bandwidth, "per direction", rate_range, true});
  visitor.field({"latency", &spec.latency, "of one message, on every such link", time_range});
}

}  // namespace

void describe_dimensions(Visitor& visitor, std::vector<GridDimension>& dimensions) {
  // The first side changes fastest with the number of the device: neighbours along it have
  // neighbouring numbers.
  visitor.list(
      "dimensions", "sides of the grid, the first one changing fastest with the device",
      dimensions.size(), [&](std::size_t size) { dimensions.resize(size); },
      [&](Visitor& v, std::size_t i) {
        v.field({"size", &dimensions[i].size, "devices along the side", between(2, 65536), true});
        describe_wire(v, dimensions[i].link);
      });
}

void describe_graph(Visitor& visitor, GraphFabric& graph) {
  visitor.field({"switches", &graph.switches, "switches of a node, numbered behind its devices",
                 between(0, 65536)});
  visitor.list(
      "links", "each in both directions", graph.links.size(),
      [&](std::size_t size) { graph.links.resize(size); },
      [&](Visitor& v, std::size_t i) {
        v.field({"between", &graph.links[i].between, "two devices or switches of the node",
                 between(0, 131072), true});
        describe_wire(v, graph.links[i].link);
      });
}

LinkSpec node_link(const NodeFabric& fabric) {
  return std::visit(
      Overloaded{[](const MeshFabric& mesh) { return mesh.link; },
                 [](const SwitchFabric& ports) { return ports.port; },
                 [](const GroupFabric& groups) { return groups.link; },
                 [](const TorusFabric& torus) { return first_link(torus.dimensions); },
                 [](const FullMeshFabric& mesh) { return first_link(mesh.dimensions); },
                 [](const GraphFabric& graph) {
                   return graph.links.empty() ? LinkSpec{} : graph.links.front().link;
                 },
                 [](const PlatformFabric&) { return LinkSpec{}; }},
      fabric);
}

bool has_one_link_kind(const NodeFabric& fabric) {
  // Groups have bridges beside their links, and each side of a torus or edge of a graph has a link
  // of its own.
  return std::visit(
      Overloaded{[](const MeshFabric&) { return true; }, [](const SwitchFabric&) { return true; },
                 [](const GroupFabric&) { return false; }, [](const TorusFabric&) { return false; },
                 [](const FullMeshFabric&) { return false; },
                 [](const GraphFabric&) { return false; },
                 [](const PlatformFabric&) { return false; }},
      fabric);
}

/// Kinds of nodes differ in latency, of which a fabric has one value: take_fastest_links() sets it.
void set_node_latency(NodeFabric& fabric, Seconds latency) {
  expects(has_one_link_kind(fabric), "kinds have links of one kind inside a node");
  std::visit(Overloaded{[&](MeshFabric& mesh) { mesh.link.latency = latency; },
                        [&](SwitchFabric& ports) { ports.port.latency = latency; },
                        [](GroupFabric&) {}, [](TorusFabric&) {}, [](FullMeshFabric&) {},
                        [](GraphFabric&) {}, [](PlatformFabric&) {}},
             fabric);
}

double node_efficiency(const NodeFabric& fabric) {
  return std::visit([](const auto& f) { return f.efficiency; }, fabric);
}

}  // namespace stepcast
