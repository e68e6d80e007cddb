#include "stepcast/topology/fabric.hpp"

#include <algorithm>

#include "narrow.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

LinkKind down(LinkKind up) { return static_cast<LinkKind>(static_cast<std::size_t>(up) + 1); }

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

const char* name(Locality locality) {
  static constexpr std::array<const char*, localities> names{"device", "node", "super_node", "leaf",
                                                             "spine"};
  return names[static_cast<std::size_t>(locality)];
}

const char* name(LinkKind kind) {
  static constexpr std::array<const char*, link_kinds> names{
      "mesh",       "port_up", "port_down", "bridge_up", "bridge_down", "super_up",
      "super_down", "nic_up",  "nic_down",  "leaf_up",   "leaf_down"};
  return names[static_cast<std::size_t>(kind)];
}

Fabric::Fabric(const ClusterSpec& cluster, LinkFaults faults)
    : cluster_{cluster}, devices_{cluster.devices}, faults_{std::move(faults)} {
  if (devices_ < 1 || cluster_.node_devices < 1 || devices_ % cluster_.node_devices != 0)
    throw InputError("cluster.devices: is " + std::to_string(devices_) +
                     ", must be a multiple of node.devices (" +
                     std::to_string(cluster_.node_devices) + ")");
  add_node_blocks();
  if (cluster_.super_node)
    add_pair(LinkKind::super_up, devices_, cluster_.super_node->fabric.port,
             cluster_.super_node->fabric.efficiency);
  const NicSpec& nic = cluster_.network.nic;
  add_pair(LinkKind::nic_up, nics(), nic.link, nic.efficiency);
  const double trunk =
      static_cast<double>(cluster_.network.leaf_ports) / cluster_.network.oversubscription;
  add_pair(LinkKind::leaf_up, leaves(), {nic.link.bandwidth * trunk, Seconds{0}}, nic.efficiency);
  for (const auto& [id, factor] : faults_.bandwidth_factor)
    degraded_[static_cast<std::size_t>(kind_of({id}))] = true;
  for (const auto& [id, links] : faults_.detour)
    for (const LinkId link : links) on_detour_.insert(link.value);
}

void Fabric::add_node_blocks() {
  if (const auto* ports = std::get_if<SwitchFabric>(&cluster_.node_fabric)) {
    add_pair(LinkKind::port_up, devices_, ports->port, ports->efficiency);
    return;
  }
  const auto* groups = std::get_if<GroupFabric>(&cluster_.node_fabric);
  mesh_size_ = groups != nullptr ? groups->group_size : cluster_.node_devices;
  if (mesh_size_ < 1 || cluster_.node_devices % mesh_size_ != 0)
    throw InputError("node.fabric.size: is " + std::to_string(mesh_size_) +
                     ", must divide node.devices (" + std::to_string(cluster_.node_devices) + ")");
  if (groups != nullptr) {
    add_block(LinkKind::mesh, devices_ * (mesh_size_ - 1), groups->link, groups->efficiency);
    add_pair(LinkKind::bridge_up, devices_, groups->bridge, groups->efficiency);
  } else {
    const auto& mesh = std::get<MeshFabric>(cluster_.node_fabric);
    add_block(LinkKind::mesh, devices_ * (mesh_size_ - 1), mesh.link, mesh.efficiency);
  }
}

void Fabric::add_block(LinkKind kind, std::int64_t count, LinkSpec link, double efficiency) {
  if (link_count_ + count >= std::int64_t{no_link.value})
    throw InputError("the cluster has more than 2^32 - 2 links");
  blocks_[static_cast<std::size_t>(kind)] = {link_count_, narrow(count),
                                             link.bandwidth * efficiency, link.latency};
  link_count_ += narrow(count);
}

void Fabric::add_pair(LinkKind up, std::int64_t count, LinkSpec link, double efficiency) {
  add_block(up, count, link, efficiency);
  add_block(down(up), count, {link.bandwidth, Seconds{0}}, efficiency);
}

std::int64_t Fabric::nodes() const { return devices_ / cluster_.node_devices; }

std::int64_t Fabric::super_nodes() const {
  return cluster_.super_node ? over(nodes(), cluster_.super_node->nodes) : nodes();
}

std::int64_t Fabric::nics() const {
  return cluster_.network.nic.per == NicSpec::Per::device ? devices_ : nodes();
}

std::int64_t Fabric::leaves_per_rail() const { return over(nodes(), cluster_.network.leaf_ports); }

std::int64_t Fabric::leaves() const {
  switch (cluster_.network.kind) {
    case NetworkSpec::Kind::single_switch:
      return 0;
    case NetworkSpec::Kind::leaf_spine:
      return over(nics(), cluster_.network.leaf_ports);
    case NetworkSpec::Kind::rail_optimized:
      return nics() / nodes() * leaves_per_rail();
  }
  return 0;
}

NodeId Fabric::node_of(DeviceId device) const {
  return {narrow(device.value / cluster_.node_devices)};
}

std::uint32_t Fabric::super_node_of(DeviceId device) const {
  const std::uint32_t node = node_of(device).value;
  return cluster_.super_node ? narrow(node / cluster_.super_node->nodes) : node;
}

bool Fabric::super_behind_ports() const {
  return cluster_.super_node && block(LinkKind::port_up).count > 0;
}

std::uint32_t Fabric::nic_of(DeviceId device) const {
  return cluster_.network.nic.per == NicSpec::Per::device ? device.value : node_of(device).value;
}

std::uint32_t Fabric::leaf_of_nic(std::uint32_t nic) const {
  const std::int64_t ports = cluster_.network.leaf_ports;
  switch (cluster_.network.kind) {
    case NetworkSpec::Kind::single_switch:
      return 0;
    case NetworkSpec::Kind::leaf_spine:
      return narrow(nic / ports);
    case NetworkSpec::Kind::rail_optimized: {
      const std::int64_t rails = nics() / nodes();
      return narrow(nic % rails * leaves_per_rail() + nic / rails / ports);
    }
  }
  return 0;
}

std::int64_t Fabric::nics_below(std::uint32_t leaf) const {
  const std::int64_t ports = cluster_.network.leaf_ports;
  const bool rails = cluster_.network.kind == NetworkSpec::Kind::rail_optimized;
  const std::int64_t position = rails ? leaf % leaves_per_rail() : leaf;
  return std::min(ports, (rails ? nodes() : nics()) - position * ports);
}

Locality Fabric::locality(DeviceId a, DeviceId b) const {
  if (a == b) return Locality::device;
  if (node_of(a) == node_of(b)) return Locality::node;
  if (super_node_of(a) == super_node_of(b)) return Locality::super_node;
  return leaf_of(a) == leaf_of(b) ? Locality::leaf : Locality::spine;
}

bool Fabric::same_mesh(DeviceId a, DeviceId b) const {
  return mesh_size_ > 0 && a.value / mesh_size_ == b.value / mesh_size_;
}

LinkId Fabric::mesh_link(DeviceId from, DeviceId to) const {
  expects(from != to && same_mesh(from, to), "a mesh link joins two devices of one mesh");
  const auto size = narrow(mesh_size_);
  const std::uint32_t place = to.value % size;
  return {block(LinkKind::mesh).first + from.value * (size - 1) +
          (place > from.value % size ? place - 1 : place)};
}

LinkId Fabric::device_link(LinkKind kind, DeviceId device) const {
  const bool nic = kind == LinkKind::nic_up || kind == LinkKind::nic_down;
  const std::uint32_t index = nic ? nic_of(device) : device.value;
  expects(kind != LinkKind::mesh && kind < LinkKind::leaf_up && index < block(kind).count,
          "the device has a link of that kind");
  return {block(kind).first + index};
}

LinkId Fabric::leaf_link(LinkKind kind, std::uint32_t leaf) const {
  expects(kind >= LinkKind::leaf_up && leaf < block(kind).count, "the leaf exists");
  return {block(kind).first + leaf};
}

std::vector<LinkId> Fabric::route(DeviceId a, DeviceId b) const {
  std::vector<LinkId> links = intact_route(a, b);
  if (faults_.detour.empty()) return links;
  std::vector<LinkId> around;
  for (const LinkId link : links) {
    const auto* instead = detour(link);
    if (instead == nullptr) {
      around.push_back(link);
    } else {
      around.insert(around.end(), instead->begin(), instead->end());
    }
  }
  return around;
}

std::vector<LinkId> Fabric::intact_route(DeviceId a, DeviceId b) const {
  const auto ports = [&](LinkKind up) {
    return std::vector{device_link(up, a), device_link(down(up), b)};
  };
  switch (locality(a, b)) {
    case Locality::device:
      return {};
    case Locality::node:
      if (same_mesh(a, b)) return {mesh_link(a, b)};
      return ports(mesh_size_ > 0 ? LinkKind::bridge_up : LinkKind::port_up);
    case Locality::super_node:
      if (!super_behind_ports()) return ports(LinkKind::super_up);
      return {device_link(LinkKind::port_up, a), device_link(LinkKind::super_up, a),
              device_link(LinkKind::super_down, b), device_link(LinkKind::port_down, b)};
    case Locality::leaf:
      return ports(LinkKind::nic_up);
    case Locality::spine:
      break;
  }
  return {device_link(LinkKind::nic_up, a), leaf_link(LinkKind::leaf_up, leaf_of(a)),
          leaf_link(LinkKind::leaf_down, leaf_of(b)), device_link(LinkKind::nic_down, b)};
}

bool Fabric::can_saturate(LinkId id) const {
  const LinkKind kind = kind_of(id);
  if (super_behind_ports() && (kind == LinkKind::super_up || kind == LinkKind::super_down))
    return degraded(kind) || block(kind).bandwidth < block(LinkKind::port_up).bandwidth;
  if (kind < LinkKind::leaf_up || degraded(kind)) return true;
  const auto below = static_cast<double>(nics_below(id.value - block(kind).first));
  const auto ports = static_cast<double>(cluster_.network.leaf_ports);
  return below * cluster_.network.oversubscription > ports;
}

bool Fabric::trunks_can_saturate() const {
  return leaves() > 0 && (cluster_.network.oversubscription > 1 || degraded(LinkKind::leaf_up));
}

Seconds Fabric::route_latency(DeviceId a, DeviceId b) const {
  Seconds sum{0};
  for (const LinkId id : route(a, b)) sum += link(id).latency;
  return sum;
}

}  // namespace stepcast
