#include "stepcast/topology/fabric.hpp"

#include <algorithm>

#include "narrow.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/overloaded.hpp"

namespace stepcast {
namespace {

/// Rounds up: a part of a leaf, pod or super-node is a whole switch.
std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

const char* name(Locality locality) {
  switch (locality) {
    case Locality::device:
      return "device";
    case Locality::node:
      return "node";
    case Locality::super_node:
      return "super_node";
    case Locality::leaf:
      return "leaf";
    case Locality::spine:
      return "spine";
    case Locality::core:
      break;
  }
  return "core";
}

Fabric::Fabric(const ClusterSpec& cluster, LinkFaults faults)
    : cluster_{cluster}, devices_{cluster.devices}, faults_{std::move(faults)} {
  // Tests and studies build fabrics without a file, so that checks of the reader do not suffice.
  if (devices_ < 1 || cluster_.node_devices < 1 || devices_ % cluster_.node_devices != 0)
    throw InputError("cluster.devices: is " + std::to_string(devices_) +
                     ", must be a multiple of node.devices (" +
                     std::to_string(cluster_.node_devices) + ")");
  if (places_ = cluster_.node_places(); !places_.empty() && std::ssize(places_) != nodes())
    throw InputError("allocation: has " + std::to_string(places_.size()) + " nodes, allowed: the " +
                     std::to_string(nodes()) + " of the cluster");
  add_node_blocks();
  if (cluster_.super_node)
    add_pair(LinkKind::super_up, devices_, cluster_.super_node->fabric.port,
             cluster_.super_node->fabric.efficiency);
  const NicSpec& nic = cluster_.network.nic;
  if (!of_platform()) add_pair(LinkKind::nic_up, nics(), nic.link, nic.efficiency);
  // What other jobs take of the uplinks is gone for this one.
  const double trunk = uplinks(cluster_.network) * (1 - cluster_.network.background);
  // Routers of a dragonfly are joined by its channels and have no spine above them.
  const bool spines = cluster_.network.kind != NetworkSpec::Kind::dragonfly;
  add_pair(LinkKind::leaf_up, spines ? leaves() : 0, {nic.link.bandwidth * trunk, Seconds{0}},
           nic.efficiency);
  const double pod = trunk * static_cast<double>(cluster_.network.pod_leaves) /
                     cluster_.network.pod_oversubscription;
  add_pair(LinkKind::pod_up, pods(), {nic.link.bandwidth * pod, Seconds{0}}, nic.efficiency);
  add_channels();
  add_pcie();
  // An allocation leaves gaps below leaves: count once what is below each.
  if (!places_.empty() && leaves() > 0) {
    nics_below_.assign(static_cast<std::size_t>(leaves()), 0);
    for (std::uint32_t n = 0; n < nics(); ++n) ++nics_below_[leaf_of_nic(n)];
  }
  // Kinds of which a link lost bandwidth lose the shortcuts that take all links as alike.
  for (const auto& [id, factor] : faults_.bandwidth_factor)
    degraded_[static_cast<std::size_t>(kind_of({id}))] = true;
  // A detour loads links that its own route does not name; whoever asks which links are shared
  // must see them.
  for (const auto& [id, links] : faults_.detour)
    for (const LinkId link : links) {
      on_detour_.insert(link.value);
      for (const LinkId more : over_pcie(link)) on_detour_.insert(more.value);
    }
}

/// What joins the devices of a node, as blocks of links that follow each other in LinkId.
void Fabric::add_node_blocks() {
  wires_ = std::make_shared<const NodeWires>();
  std::visit(Overloaded{[&](const SwitchFabric& ports) {
                          add_pair(LinkKind::port_up, devices_, ports.port, ports.efficiency);
                          node_ports_ = LinkKind::port_up;
                        },
                        [&](const MeshFabric& mesh) {
                          add_meshes(cluster_.node_devices, mesh.link, mesh.efficiency);
                        },
                        [&](const GroupFabric& groups) {
                          add_meshes(groups.group_size, groups.link, groups.efficiency);
                          add_pair(LinkKind::bridge_up, devices_, groups.bridge, groups.efficiency);
                          node_ports_ = LinkKind::bridge_up;
                        },
                        [&](const TorusFabric&) { add_wires(); },
                        [&](const FullMeshFabric&) { add_wires(); },
                        [&](const GraphFabric&) { add_wires(); },
                        [&](const PlatformFabric&) { add_wires(); }},
             cluster_.node_fabric);
}

/// Local and global channels of a dragonfly; they reach the part of their bandwidth that NICs do.
void Fabric::add_channels() {
  const NetworkSpec& network = cluster_.network;
  const bool plus = network.kind == NetworkSpec::Kind::dragonfly_plus;
  if (of_platform() || (!plus && network.kind != NetworkSpec::Kind::dragonfly)) return;
  const DragonflySpec& spec = network.dragonfly;
  // A cut group still has all its routers, as docs/models/fabric.md says.
  dragonfly_ =
      Dragonfly(narrow(over(leaves(), spec.group_routers)), narrow(spec.group_routers), plus);
  const LinkSpec bundle{spec.global.bandwidth * static_cast<double>(spec.global_links),
                        spec.global.latency};
  add_block(LinkKind::local, static_cast<std::int64_t>(dragonfly_.locals()), spec.local,
            network.nic.efficiency);
  add_block(LinkKind::global, static_cast<std::int64_t>(dragonfly_.globals()), bundle,
            network.nic.efficiency);
}

/// Wires differ, so that their block says where they are and no more.
void Fabric::add_wires() {
  // A platform file describes the whole cluster, a wired node only itself.
  const bool all = std::holds_alternative<PlatformFabric>(cluster_.node_fabric);
  wires_ = std::make_shared<const NodeWires>(cluster_.node_fabric,
                                             all ? devices_ : cluster_.node_devices);
  add_block(LinkKind::wire, devices_ / wires_->devices() * wires_->count(), {}, 1);
}

void Fabric::add_meshes(std::int64_t size, LinkSpec link, double efficiency) {
  if (size < 1 || cluster_.node_devices % size != 0)
    throw InputError("node.fabric.size: is " + std::to_string(size) +
                     ", must divide node.devices (" + std::to_string(cluster_.node_devices) + ")");
  mesh_size_ = size;
  // Ordered pairs: each device of a mesh has a link to each other one.
  add_block(LinkKind::mesh, devices_ * (size - 1), link, efficiency);
}

void Fabric::add_block(LinkKind kind, std::int64_t count, LinkSpec link, double efficiency) {
  // Ids have 32 bits, and the last value means no link.
  if (link_count_ + count >= std::int64_t{no_link.value})
    throw InputError("the cluster has more than 2^32 - 2 links");
  blocks_[static_cast<std::size_t>(kind)] = {link_count_, narrow(count),
                                             link.bandwidth * efficiency, link.latency};
  link_count_ += narrow(count);
}

void Fabric::add_pair(LinkKind up, std::int64_t count, LinkSpec link, double efficiency) {
  add_block(up, count, link, efficiency);
  // The latency of a message counts once, on its way up.
  add_block(info(up).reverse, count, {link.bandwidth, Seconds{0}}, efficiency);
}

std::int64_t Fabric::nodes() const { return devices_ / cluster_.node_devices; }

std::int64_t Fabric::super_nodes() const {
  if (!cluster_.super_node) return nodes();
  // The last super-node may be a part; an allocation may begin far into the machine.
  return over(place_of({narrow(nodes() - 1)}) + 1, cluster_.super_node->nodes);
}

std::uint32_t Fabric::place_of(NodeId node) const {
  return places_.empty() ? node.value : places_[node.value];
}

std::int64_t Fabric::nics() const {
  if (of_platform()) return 0;
  return cluster_.network.nic.per == NicSpec::Per::device ? devices_ : nodes();
}

std::int64_t Fabric::rails() const {
  switch (cluster_.network.kind) {
    case NetworkSpec::Kind::single_switch:
      return 0;
    case NetworkSpec::Kind::leaf_spine:
    case NetworkSpec::Kind::dragonfly:
    case NetworkSpec::Kind::dragonfly_plus:
      return 1;
    case NetworkSpec::Kind::rail_optimized:
      break;
  }
  // One rail per NIC of a node.
  return nics() / nodes();
}

std::int64_t Fabric::leaves_per_rail() const {
  // Leaves are those of the machine up to the last node used, so that names hold in an allocation.
  const std::int64_t nodes_of_machine = place_of({narrow(nodes() - 1)}) + 1, all = rails();
  expects(all > 0, "NICs are cabled to leaves");
  return over(nodes_of_machine * (nics() / nodes()) / all, cluster_.network.leaf_ports);
}

std::int64_t Fabric::leaves() const { return rails() == 0 ? 0 : rails() * leaves_per_rail(); }

std::int64_t Fabric::pods() const {
  const NetworkSpec& network = cluster_.network;
  const bool tiered = network.kind == NetworkSpec::Kind::leaf_spine && network.pod_leaves > 0;
  return tiered ? over(leaves(), network.pod_leaves) : 0;
}

/// Leaves of one pod have successive numbers; without pods all leaves are in one.
std::uint32_t Fabric::pod_of_leaf(std::uint32_t leaf) const {
  return pods() > 0 ? narrow(leaf / cluster_.network.pod_leaves) : 0;
}

NodeId Fabric::node_of(DeviceId device) const {
  return {narrow(device.value / cluster_.node_devices)};
}

std::uint32_t Fabric::super_node_of(DeviceId device) const {
  const std::uint32_t node = place_of(node_of(device));
  return cluster_.super_node ? narrow(node / cluster_.super_node->nodes) : node;
}

/// With a switch inside the node, what leaves the node passes the port first.
bool Fabric::super_behind_ports() const {
  return cluster_.super_node && block(LinkKind::port_up).count > 0;
}

std::uint32_t Fabric::nic_of(DeviceId device) const {
  return cluster_.network.nic.per == NicSpec::Per::device ? device.value : node_of(device).value;
}

std::uint32_t Fabric::leaf_of_nic(std::uint32_t nic) const {
  const std::int64_t rails = this->rails();
  if (rails == 0) return 0;
  // Cables go by the node's place in the machine, not by its number in this cluster.
  if (!places_.empty()) {
    const auto of_node = narrow(nics() / nodes());
    nic = place_of({nic / of_node}) * of_node + nic % of_node;
  }
  // Rails have leaves of their own, filled in the order of nodes.
  return narrow(nic % rails * leaves_per_rail() + nic / rails / cluster_.network.leaf_ports);
}

std::int64_t Fabric::nics_below(std::uint32_t leaf) const {
  if (!places_.empty()) return nics_below_[leaf];
  const std::int64_t ports = cluster_.network.leaf_ports, of_rail = leaves_per_rail();
  expects(of_rail > 0 && rails() > 0, "NICs are cabled to leaves");
  // All leaves of a rail are full but the last.
  return std::min(ports, nics() / rails() - leaf % of_rail * ports);
}

Locality Fabric::locality(DeviceId a, DeviceId b) const {
  // From the nearest to the farthest: the first that holds names the switch that bytes turn at.
  if (a == b) return Locality::device;
  if (node_of(a) == node_of(b)) return Locality::node;
  if (super_node_of(a) == super_node_of(b)) return Locality::super_node;
  if (leaf_of(a) == leaf_of(b)) return Locality::leaf;
  return pod_of(a) == pod_of(b) && group_of(a) == group_of(b) ? Locality::spine : Locality::core;
}

std::uint32_t Fabric::group_of(DeviceId device) const {
  return dragonfly_.empty() ? 0 : dragonfly_.group_of(leaf_of(device));
}

bool Fabric::same_mesh(DeviceId a, DeviceId b) const {
  return mesh_size_ > 0 && a.value / mesh_size_ == b.value / mesh_size_;
}

LinkId Fabric::mesh_link(DeviceId from, DeviceId to) const {
  expects(from != to && same_mesh(from, to), "a mesh link joins two devices of one mesh");
  const auto size = narrow(mesh_size_);
  const std::uint32_t place = to.value % size;
  // A row of the block is one sender; the sender itself is left out of its row.
  return {block(LinkKind::mesh).first + from.value * (size - 1) +
          (place > from.value % size ? place - 1 : place)};
}

/// The link of that kind which serves the device: its own, its NIC's or that of its PCIe switch.
LinkId Fabric::device_link(LinkKind kind, DeviceId device) const {
  const LinkOwner owner = info(kind).family.owner;
  const bool behind_switch = owner == LinkOwner::pcie_switch;
  const std::uint32_t index = owner == LinkOwner::nic ? nic_of(device)
                              : behind_switch
                                  ? narrow(device.value / cluster_.host.pcie.switch_devices)
                                  : device.value;
  expects((owner == LinkOwner::device || owner == LinkOwner::nic || behind_switch) &&
              index < block(kind).count,
          "the device has a link of that kind");
  return {block(kind).first + index};
}

LinkId Fabric::leaf_link(LinkKind kind, std::uint32_t leaf) const {
  expects(info(kind).family.owner == LinkOwner::leaf && leaf < block(kind).count,
          "the leaf exists");
  return {block(kind).first + leaf};
}

LinkId Fabric::pod_link(LinkKind kind, std::uint32_t pod) const {
  expects(info(kind).family.owner == LinkOwner::pod && pod < block(kind).count, "the pod exists");
  return {block(kind).first + pod};
}

LinkId Fabric::channel_link(LinkKind kind, std::uint32_t channel) const {
  expects(info(kind).family.owner == LinkOwner::channel && channel < block(kind).count,
          "the channel exists");
  return {block(kind).first + channel};
}

std::vector<LinkId> Fabric::channels_between(DeviceId a, DeviceId b) const {
  // A dragonfly alone has channels between its routers; other fabrics go up and down through tiers.
  if (dragonfly_.empty()) return {};
  // Minimal routes: at most one hop in the first group, one between groups and one in the last.
  const Dragonfly::Way way = dragonfly_.way(leaf_of(a), leaf_of(b));
  std::vector<LinkId> links;
  if (way.first) links.push_back(channel_link(LinkKind::local, *way.first));
  if (way.across) links.push_back(channel_link(LinkKind::global, *way.across));
  if (way.last) links.push_back(channel_link(LinkKind::local, *way.last));
  return links;
}

std::vector<LinkId> Fabric::route(DeviceId a, DeviceId b) const {
  std::vector<LinkId> links = intact_route(a, b);
  // Most clusters have no failed link, and routes are asked for millions of times.
  if (faults_.detour.empty()) return links;
  // Detours are not gone around again: they were found among links that work.
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
    return std::vector{device_link(up, a), device_link(info(up).reverse, b)};
  };
  if (of_platform()) return wire_route(a, b);
  switch (locality(a, b)) {
    case Locality::device:
      return {};
    case Locality::node:
      if (same_mesh(a, b)) return {mesh_link(a, b)};
      if (!wires_->empty()) return wire_route(a, b);
      return ports(node_ports_.value());
    case Locality::super_node:
      // Ports limit what a device injects inside its
      // super-node, so that they are on the way out too.
      if (!super_behind_ports()) return ports(LinkKind::super_up);
      return {device_link(LinkKind::port_up, a), device_link(LinkKind::super_up, a),
              device_link(LinkKind::super_down, b), device_link(LinkKind::port_down, b)};
    case Locality::leaf:
      return ports(LinkKind::nic_up);
    case Locality::spine:
    case Locality::core:
      break;
  }
  // Beyond one leaf: NIC, trunk to the spines, then groups or pods in between, and down again.
  const std::vector<LinkId> channels = channels_between(a, b);
  std::vector<LinkId> links{device_link(LinkKind::nic_up, a)};
  const bool trunks = block(LinkKind::leaf_up).count > 0;
  if (trunks) links.push_back(leaf_link(LinkKind::leaf_up, leaf_of(a)));
  links.insert(links.end(), channels.begin(), channels.end());
  if (pod_of(a) != pod_of(b)) {
    links.push_back(pod_link(LinkKind::pod_up, pod_of(a)));
    links.push_back(pod_link(LinkKind::pod_down, pod_of(b)));
  }
  if (trunks) links.push_back(leaf_link(LinkKind::leaf_down, leaf_of(b)));
  links.push_back(device_link(LinkKind::nic_down, b));
  return links;
}

/// False only where bandwidth below the link cannot fill it, so that the link may be left out of
/// plans; true is always safe.
bool Fabric::can_saturate(LinkId id) const {
  const LinkKind kind = kind_of(id);
  switch (info(kind).family.tier) {
    case LinkTier::mesh:
    case LinkTier::wire:
    case LinkTier::node:
    case LinkTier::nic:
    case LinkTier::channel:
    case LinkTier::host:
      return true;
    case LinkTier::super_node:
      // What reaches a super link came through a port
      // first; a port no faster keeps it from filling.
      return !super_behind_ports() || degraded(kind) ||
             block(kind).bandwidth < block(LinkKind::port_up).bandwidth;
    case LinkTier::pod:
      return degraded(kind) || pod_can_saturate(id.value - block(kind).first);
    case LinkTier::trunk:
      break;
  }
  if (degraded(kind) || !cluster_.network.undisturbed()) return true;
  // Trunk (1) of docs/models/fabric.md, divided by the bandwidth of a NIC on both sides.
  const auto below = static_cast<double>(nics_below(id.value - block(kind).first));
  const auto ports = static_cast<double>(cluster_.network.leaf_ports);
  return below * cluster_.network.oversubscription > ports;
}

/// NICs below the pod, as far as their leaves let them out, against the pod's own trunk.
bool Fabric::pod_can_saturate(std::uint32_t pod) const {
  const NetworkSpec& network = cluster_.network;
  if (network.pod_oversubscription <= 1) return false;
  const auto first = narrow(pod * network.pod_leaves);
  const std::int64_t end = std::min(leaves(), std::int64_t{first} + network.pod_leaves);
  // Leaves let out at most what their own uplinks carry.
  double below = 0;
  for (std::uint32_t leaf = first; leaf < end; ++leaf)
    below += std::min(static_cast<double>(nics_below(leaf)), uplinks(network));
  const double all = uplinks(network) * static_cast<double>(network.pod_leaves);
  return below * network.pod_oversubscription > all;
}

bool Fabric::pods_can_saturate() const {
  return pods() > 0 && (cluster_.network.pod_oversubscription > 1 || degraded(LinkKind::pod_up));
}

bool Fabric::trunks_can_saturate() const {
  return block(LinkKind::leaf_up).count > 0 &&
         (cluster_.network.oversubscription > 1 || degraded(LinkKind::leaf_up) ||
          !cluster_.network.undisturbed());
}

Seconds Fabric::route_latency(DeviceId a, DeviceId b) const {
  Seconds sum{0};
  for (const LinkId id : route(a, b)) sum += link(id).latency;
  return sum;
}

}  // namespace stepcast
