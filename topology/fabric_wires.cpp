#include <algorithm>

#include "narrow.hpp"
#include "stepcast/topology/fabric.hpp"

/// Wires of nodes among the links of a fabric. docs/models/wired.md.
namespace stepcast {

// A platform file is one node as far as wires are concerned.
NodeId Fabric::wired_node_of(DeviceId device) const {
  return of_platform() ? NodeId{0} : node_of(device);
}

LinkId Fabric::wire_link(NodeId node, std::uint32_t wire) const {
  return {block(LinkKind::wire).first + node.value * wires_->count() + wire};
}

Fabric::WirePlace Fabric::wire_place(LinkId id) const {
  // Each node has the same wires: ids go node by node.
  const std::uint32_t index = id.value - block(LinkKind::wire).first;
  return {{index / wires_->count()}, index % wires_->count()};
}

// Ends carry numbers of the whole cluster: devices first, then the switches of all nodes.
std::uint32_t Fabric::wire_end(NodeId node, std::uint32_t vertex) const {
  const auto size = narrow(cluster_.node_devices);
  if (vertex < size) return node.value * size + vertex;
  return narrow(devices_) + node.value * wires_->switches() + vertex - size;
}

Link Fabric::wire(Link link, std::uint32_t index, double left) const {
  const NodeId node{index / wires_->count()};
  const NodeWires::Wire& wire = wires_->wire(index % wires_->count());
  if (!of_platform()) {
    link.from = wire_end(node, wire.from);
    link.to = wire_end(node, wire.to);
  }
  // Wires differ, so that their block has no bandwidth of its own to multiply.
  link.bandwidth = wire.bandwidth * node_efficiency(cluster_.node_fabric) * left;
  link.latency = wire.latency;
  return link;
}

/// Nominal, without faults: plans must not depend on what is broken.
BytesPerSecond Fabric::planned_bandwidth(LinkId id) const {
  const LinkKind kind = kind_of(id);
  if (kind != LinkKind::wire) return block(kind).bandwidth;
  return wires_->wire(wire_place(id).wire).bandwidth * node_efficiency(cluster_.node_fabric);
}

std::vector<LinkId> Fabric::wire_route(DeviceId a, DeviceId b) const {
  const std::uint32_t size = wires_->devices();
  std::vector<std::uint32_t> wires;
  wires_->route(a.value % size, b.value % size, wires);
  std::vector<LinkId> links;
  for (const std::uint32_t wire : wires) links.push_back(wire_link(wired_node_of(a), wire));
  return links;
}

/// By the numbers that Link::from and Link::to have.
std::optional<LinkId> Fabric::find_wire(std::uint32_t from, std::uint32_t to) const {
  // find_link() has both ends from text: wires may not exist, and ends may be on two nodes.
  if (wires_->empty() || of_platform()) return std::nullopt;
  const auto size = narrow(cluster_.node_devices), all = narrow(devices_);
  const auto node = [&](std::uint32_t end) {
    // A node without switches divides by one and finds no wire below.
    return end < all ? end / size : (end - all) / std::max(1U, wires_->switches());
  };
  const auto vertex = [&](std::uint32_t end) {
    return end < all ? end % size : size + (end - all) % std::max(1U, wires_->switches());
  };
  if (node(from) != node(to) || node(from) >= nodes()) return std::nullopt;
  const auto wire = wires_->between(vertex(from), vertex(to));
  if (!wire) return std::nullopt;
  return wire_link({node(from)}, *wire);
}

}  // namespace stepcast
