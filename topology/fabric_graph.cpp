#include "stepcast/topology/fabric_graph.hpp"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>
#include <map>
#include <set>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Vertex numbers: devices, then the switches of each kind in turn.
struct Vertices {
  explicit Vertices(const Fabric& of) : fabric{of} {
    // Only what exists in the cluster gets numbers:
    // flows take longer on a graph with idle vertices.
    const ClusterSpec& cluster = fabric.cluster();
    const bool node_nic = cluster.network.nic.per == NicSpec::Per::node;
    node_switch = count(fabric.devices());
    super_switch = node_switch + (fabric.node_ports() ? count(fabric.nodes()) : 0);
    nic = super_switch + (cluster.super_node ? count(fabric.super_nodes()) : 0);
    // A sending and a receiving side, so that no path leads through a NIC from device to device.
    leaf = nic + (node_nic ? 2 * count(fabric.nics()) : 0);
    const Dragonfly& dragonfly = fabric.dragonfly();
    // Leaves of a fabric and routers of a dragonfly never exist together and share their numbers.
    top = leaf +
          std::max(count(fabric.leaves()), count(dragonfly.groups()) * count(dragonfly.routers()));
    pod = top + 1;
    // Pods and the spines of a dragonfly+ group stand
    // in the same place, between leaves and the top.
    wire_switch = pod + count(dragonfly.plus() ? dragonfly.groups() : fabric.pods());
    all = wire_switch + count(fabric.nodes()) * fabric.wires().switches();
  }
  static std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

  /// The switch that a NIC is plugged into: its leaf, or the only one there is.
  std::size_t first_switch(std::uint32_t nic_index) const {
    return fabric.leaves() > 0 ? leaf + fabric.leaf_of_nic(nic_index) : top;
  }
  /// The vertex that sends for a NIC: the device itself, unless the node has one NIC for all.
  std::size_t sender(std::uint32_t nic_index) const {
    return leaf > nic ? nic + nic_index : nic_index;
  }
  std::size_t receiver(std::uint32_t nic_index) const {
    return leaf > nic ? nic + count(fabric.nics()) + nic_index : nic_index;
  }
  /// What a super link joins to the super-node's switch.
  std::size_t below_super(DeviceId device) const {
    return fabric.super_behind_ports() ? node_switch + fabric.node_of(device).value : device.value;
  }
  /// Where a link begins and ends.
  std::pair<std::size_t, std::size_t> ends(const Link& link) const {
    const DeviceId device{link.from};
    switch (link.kind) {
      case LinkKind::mesh:
        return {link.from, link.to};
      case LinkKind::wire:
        return {wire_end(link.from), wire_end(link.to)};
      case LinkKind::port_up:
      case LinkKind::bridge_up:
        return {link.from, node_switch + fabric.node_of(device).value};
      case LinkKind::port_down:
      case LinkKind::bridge_down:
        return {node_switch + fabric.node_of(device).value, link.from};
      case LinkKind::super_up:
        return {below_super(device), super_switch + fabric.super_node_of(device)};
      case LinkKind::super_down:
        return {super_switch + fabric.super_node_of(device), below_super(device)};
      case LinkKind::nic_up:
        return {sender(link.from), first_switch(link.from)};
      case LinkKind::nic_down:
        return {first_switch(link.from), receiver(link.from)};
      case LinkKind::leaf_up:
        return {leaf + link.from, above(link.from)};
      case LinkKind::leaf_down:
        return {above(link.from), leaf + link.from};
      case LinkKind::pod_up:
        return {pod + link.from, top};
      case LinkKind::pod_down:
        return {top, pod + link.from};
      case LinkKind::local:
        return {leaf + link.from, leaf + link.to};
      case LinkKind::global:
        return {group_end(link.from, link.to), group_end(link.to, link.from)};
      case LinkKind::pcie_up:
      case LinkKind::pcie_down:
      case LinkKind::switch_up:
      case LinkKind::switch_down:
        break;
    }
    return {0, 0};
  }
  /// Where the channel from a group to another one is: its gateway, or the spines of a dragonfly+.
  std::size_t group_end(std::uint32_t group, std::uint32_t other) const {
    const Dragonfly& dragonfly = fabric.dragonfly();
    return dragonfly.plus() ? pod + group : leaf + dragonfly.gateway(group, other);
  }
  /// What the trunk of a leaf leads to: spines of its group or pod, or the top.
  std::size_t above(std::uint32_t leaf_index) const {
    const Dragonfly& dragonfly = fabric.dragonfly();
    if (dragonfly.plus()) return pod + dragonfly.group_of(leaf_index);
    return fabric.pods() > 0 ? pod + fabric.pod_of_leaf(leaf_index) : top;
  }
  // Wires number their switches behind the devices; here other switches stand in between.
  std::size_t wire_end(std::size_t end) const {
    return end < node_switch ? end : wire_switch + end - node_switch;
  }
  // Numbers are asked from the first to the last, so
  // that the order of the tests is that of Vertices.
  std::string name(std::size_t v) const {
    const auto numbered = [v](const char* what, std::size_t first) {
      return what + std::to_string(v - first);
    };
    if (v < node_switch) return numbered("device:", 0);
    if (v < super_switch) return numbered("node:", node_switch);
    if (v < nic) return numbered("super:", super_switch);
    if (v < leaf) return numbered("nic:", nic);
    if (v < top) return numbered("leaf:", leaf);
    if (v >= wire_switch) return numbered("wires:", wire_switch);
    if (v > top) return numbered("pod:", pod);
    if (fabric.pods() > 0) return "core";
    return fabric.leaves() > 0 ? "spine" : "switch";
  }

  const Fabric& fabric;
  std::size_t node_switch, super_switch, nic, leaf, top, pod, wire_switch, all;
};

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS,
    boost::property<boost::vertex_index_t, long,
                    boost::property<boost::vertex_color_t, boost::default_color_type,
                                    boost::property<boost::vertex_distance_t, long,
                                                    boost::property<boost::vertex_predecessor_t,
                                                                    Traits::edge_descriptor>>>>,
    boost::property<
        boost::edge_capacity_t, double,
        boost::property<boost::edge_residual_capacity_t, double,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

/// Bandwidth [B/s] by the two ends, parallel links summed: a cut does not tell them apart.
using Capacities = std::map<std::pair<std::size_t, std::size_t>, double>;

/// From vertex 0 to vertex 1.
double max_flow(const Capacities& capacities, std::size_t vertices) {
  FlowGraph graph(vertices);
  const auto capacity = get(boost::edge_capacity, graph);
  const auto reverse = get(boost::edge_reverse, graph);
  for (const auto& [ends, bandwidth] : capacities) {
    // Boost wants a reverse edge for each edge; links are one way, so that it has no capacity.
    const auto there = add_edge(ends.first, ends.second, graph).first;
    const auto back = add_edge(ends.second, ends.first, graph).first;
    put(capacity, there, bandwidth);
    put(capacity, back, 0.0);
    put(reverse, there, back);
    put(reverse, back, there);
  }
  return boost::boykov_kolmogorov_max_flow(graph, 0, 1);
}

/// No way to other devices.
bool leads_to_host(const Link& link) { return info(link.kind).family.tier == LinkTier::host; }

}  // namespace

FabricGraph fabric_graph(const Fabric& fabric) {
  const Vertices vertices(fabric);
  FabricGraph graph(vertices.all);
  for (std::size_t v = 0; v < vertices.all; ++v) graph[v].name = vertices.name(v);
  for (std::uint32_t id = 0; id < fabric.link_count(); ++id) {
    // A link with a detour is one that failed.
    if (fabric.detour({id}) != nullptr) continue;
    const Link l = fabric.link({id});
    if (leads_to_host(l)) continue;
    const auto [from, to] = vertices.ends(l);
    add_edge(from, to, FabricEdge{{id}, l.bandwidth.value()}, graph);
  }
  // NICs of single devices are the devices themselves; shared ones need edges from and to devices.
  if (vertices.leaf == vertices.nic) return graph;
  for (std::uint32_t device = 0; device < fabric.devices(); ++device) {
    const std::uint32_t nic = fabric.nic_of({device});
    add_edge(device, vertices.sender(nic), FabricEdge{no_link, unlimited}, graph);
    add_edge(vertices.receiver(nic), device, FabricEdge{no_link, unlimited}, graph);
  }
  return graph;
}

namespace {

/// The flow from the first devices to the rest, where the first are whole nodes or all is one node.
Bisection cut_behind(const Fabric& fabric, std::int64_t first) {
  const std::int64_t nodes = fabric.nodes();
  const std::int64_t first_nodes = first / (fabric.devices() / nodes);
  const Vertices vertices(fabric);
  // All devices of a side are one vertex, the source or the sink: they would hang on it by
  // unlimited edges anyway. So do the NICs of whole nodes.
  const auto merged = [&](std::size_t v) -> std::size_t {
    if (v < vertices.node_switch) return v < static_cast<std::size_t>(first) ? 0 : 1;
    // NICs of nodes are numbered senders first and then receivers, each by node.
    if (v >= vertices.nic && v < vertices.leaf && nodes > 1)
      return (v - vertices.nic) % static_cast<std::size_t>(nodes) <
                     static_cast<std::size_t>(first_nodes)
                 ? 0
                 : 1;
    return 2 + v - vertices.node_switch;
  };
  Capacities capacities;
  for (std::uint32_t id = 0; id < fabric.link_count(); ++id) {
    if (fabric.detour({id}) != nullptr) continue;
    const Link link = fabric.link({id});
    if (leads_to_host(link)) continue;
    const auto [from, to] = vertices.ends(link);
    const std::pair ends{merged(from), merged(to)};
    // What a merged side keeps inside itself cannot limit the flow between the sides.
    if (ends.first != ends.second) capacities[ends] += link.bandwidth.value();
  }
  return {BytesPerSecond{max_flow(capacities, 2 + vertices.all - vertices.node_switch)}, first,
          std::max<std::int64_t>(1, std::min(first, fabric.devices() - first))};
}

/// Nodes of the machine in a pod or in a group of a dragonfly, where those hold whole nodes; else
/// 0.
std::int64_t nodes_above_leaves(const Fabric& fabric) {
  const NetworkSpec& network = fabric.cluster().network;
  const std::int64_t leaves =
      fabric.dragonfly().empty() ? network.pod_leaves : network.dragonfly.group_routers;
  const std::int64_t nics = leaves * network.leaf_ports;
  if (fabric.pods() == 0 && fabric.dragonfly().empty()) return 0;
  if (network.nic.per == NicSpec::Per::node) return nics;
  const std::int64_t size = fabric.devices() / fabric.nodes();
  // A cut between pods must not cut a node in two: its devices would stand on both sides.
  return nics % size == 0 ? nics / size : 0;
}

/// Devices before the half of such parts of the machine that the cluster has some of, and with one
/// part more.
void add_halves(const Fabric& fabric, std::int64_t part, std::set<std::int64_t>& halves) {
  // Tiers that the cluster lacks have no half.
  if (part == 0) return;
  const std::int64_t nodes = fabric.nodes(), size = fabric.devices() / nodes;
  const auto place = [&](std::int64_t n) {
    return std::int64_t{fabric.place_of({static_cast<std::uint32_t>(n)})};
  };
  const auto before = [&](std::int64_t end) {
    std::int64_t count = 0;
    while (count < nodes && place(count) < end) ++count;
    return count * size;
  };
  // Without gaps the middle is known; with gaps either side of it may be the worse cut.
  if (place(nodes - 1) == nodes - 1) {  // the first nodes of the machine
    halves.insert(before((nodes + part - 1) / part / 2 * part));
    return;
  }
  const std::int64_t middle = place(nodes / 2) / part * part;
  halves.insert(before(middle));
  halves.insert(before(middle + part));
}

/// On its routes: what the first half of the nodes sends to the rest while every device sends as
/// much to each.
Bisection cut_of_routes(const Fabric& fabric) {
  const std::int64_t nodes = fabric.nodes(), all = fabric.devices();
  const std::int64_t first = nodes == 1 ? all / 2 : nodes / 2 * (all / nodes);
  // A platform file has routes and no switches: the busiest link limits an exchange of all pairs.
  std::map<LinkId, double> ways;
  for (std::uint32_t a = 0; a < first; ++a)
    for (auto b = static_cast<std::uint32_t>(first); b < all; ++b)
      for (const LinkId link : fabric.route({a}, {b})) ++ways[link];
  double rate = first > 0 ? unlimited : 0;
  for (const auto& [link, count] : ways)
    rate = std::min(rate, fabric.link(link).bandwidth.value() / count);
  return {BytesPerSecond{rate * static_cast<double>(first) * static_cast<double>(all - first)},
          first, std::max<std::int64_t>(1, std::min(first, all - first))};
}

}  // namespace

Bisection bisection(const Fabric& fabric) {
  const std::int64_t nodes = fabric.nodes(), size = fabric.devices() / nodes;
  if (fabric.of_platform()) return cut_of_routes(fabric);
  if (nodes == 1) return cut_behind(fabric, fabric.devices() / 2);
  std::set<std::int64_t> halves;
  add_halves(fabric, nodes_above_leaves(fabric), halves);
  if (const auto& super = fabric.cluster().super_node) add_halves(fabric, super->nodes, halves);
  Bisection worst = cut_behind(fabric, nodes / 2 * size);
  // Empty sides are no cuts, and the half of the nodes has been asked.
  for (const std::int64_t first : halves) {
    if (first == 0 || first == nodes / 2 * size || first >= fabric.devices()) continue;
    const Bisection cut = cut_behind(fabric, first);
    if (cut.per_device() < worst.per_device()) worst = cut;
  }
  return worst;
}

std::string fabric_dot(const Fabric& fabric) {
  const FabricGraph graph = fabric_graph(fabric);
  std::string text = "digraph fabric {\n";
  for (std::size_t v = 0; v < num_vertices(graph); ++v)
    text += "  " + std::to_string(v) + " [label=\"" + graph[v].name + "\"];\n";
  for (const auto edge : boost::make_iterator_range(edges(graph))) {
    const FabricEdge& e = graph[edge];
    text +=
        "  " + std::to_string(source(edge, graph)) + " -> " + std::to_string(target(edge, graph));
    // Between a device and its NIC there is no link that could be loaded, and so no name.
    if (e.link != no_link)
      text += " [label=\"" + fabric.link_name(e.link) + " " + human(BytesPerSecond{e.bandwidth}) +
              "\"]";
    text += ";\n";
  }
  return text + "}\n";
}

}  // namespace stepcast
