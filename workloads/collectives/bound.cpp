#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "algorithms.hpp"

/// Bytes that must cross a cut, whatever the algorithm, over what the cut carries:
/// docs/models/collectives.md.
namespace stepcast {
namespace {

using collectives::Members;

struct Crossing {
  double out = 0, in = 0;  ///< bytes
};

/// Bytes between `inside` of `all` members and the others; the root of a broadcast is inside or
/// not.
Crossing crossing(const CollectiveCall& call, double inside, double all, bool root_inside) {
  const double bytes = call.bytes.value();
  const double outside = all - inside;
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      // Every part of the sum must leave the cut, and the whole must come back in.
      return {bytes, bytes};
    case CollectiveKind::reduce_scatter:
      // Those outside hold a part of every result inside, and the other way round.
      return {bytes * outside / all, bytes * inside / all};
    case CollectiveKind::all_gather:
      return {bytes * inside / all, bytes * outside / all};
    case CollectiveKind::all_to_all:
      // Each member has one p-th for every other one.
      return {bytes * inside * outside / all, bytes * inside * outside / all};
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      break;
  }
  return root_inside ? Crossing{bytes, 0} : Crossing{0, bytes};
}

class Bound {
 public:
  Bound(const Fabric& fabric, std::span<const DeviceId> members, CollectiveCall call)
      : fabric_{fabric}, members_{members}, call_{std::move(call)} {
    for (const DeviceId m : members) {
      nodes_[fabric.node_of(m).value].push_back(m);
      supers_[fabric.super_node_of(m)].push_back(m);
    }
  }

  Seconds value() {
    // Each member by itself first: no cut can be smaller.
    for (const DeviceId m : members_) cut({m}, port(m));
    // Links of a platform file belong to nobody: only the devices themselves can be cut off.
    if (fabric_.of_platform()) return Seconds{slowest_};
    for (const auto& [node, part] : nodes_) cut(part, outside_node(part));
    for (const auto& [super, part] : supers_) cut(part, nics(part));
    leaf_cuts();
    pod_cuts();
    group_cuts();
    return Seconds{slowest_};
  }

 private:
  // What is left of each link: the bound holds for a damaged fabric, too.
  double bandwidth(LinkKind kind, DeviceId device) const {
    return fabric_.link(fabric_.device_link(kind, device)).bandwidth.value();
  }
  /// What a member can send to other nodes of its super-node.
  double super(DeviceId m) const {
    const double plane = bandwidth(LinkKind::super_up, m);
    if (!fabric_.super_behind_ports()) return plane;
    return std::min(plane, bandwidth(LinkKind::port_up, m));
  }
  std::size_t in_node(DeviceId m) const { return nodes_.at(fabric_.node_of(m).value).size(); }
  std::size_t in_super(DeviceId m) const { return supers_.at(fabric_.super_node_of(m)).size(); }

  void cut(const Members& part, double capacity) {
    // Nothing crosses a cut around everybody.
    if (part.size() == members_.size()) return;
    const bool root = std::ranges::find(part, members_.front()) != part.end();
    const Crossing bytes = crossing(call_, static_cast<double>(part.size()),
                                    static_cast<double>(members_.size()), root);
    // Both directions are links of their own: the slower one bounds.
    slowest_ = std::max(slowest_, std::max(bytes.out, bytes.in) / capacity);
  }

  /// The NIC of a member, behind the link of its device where it is in the PCIe tree.
  double nic(DeviceId m) const {
    const LinkId port = fabric_.device_link(LinkKind::nic_up, m);
    double least = fabric_.link(port).bandwidth.value();
    for (const LinkId more : fabric_.over_pcie(port))
      least = std::min(least, fabric_.link(more).bandwidth.value());
    return least;
  }
  /// NICs of the part, a shared one once, and not more than the uplinks of the PCIe switches that
  /// their bytes cross.
  double nics(const Members& part) const {
    std::set<std::uint32_t> seen;
    std::map<LinkId, double> below;
    double sum = 0;
    for (const DeviceId m : part) {
      // A NIC of the whole node counts once.
      if (!seen.insert(fabric_.nic_of(m)).second) continue;
      const auto tree = fabric_.over_pcie(fabric_.device_link(LinkKind::nic_up, m));
      // Over the root only: devices below one switch share its uplink.
      (tree.size() > 1 ? below[tree.back()] : sum) += nic(m);
    }
    for (const auto& [uplink, capacity] : below)
      sum += std::min(capacity, fabric_.link(uplink).bandwidth.value());
    return sum;
  }

  double outside_node(const Members& part) const {
    double sum = 0;
    // What leaves a node goes over the super-node's
    // fabric and over NICs, as far as members are there.
    if (in_super(part.front()) > part.size())
      for (const DeviceId m : part) sum += super(m);
    return in_super(part.front()) < members_.size() ? sum + nics(part) : sum;
  }

  /// Everything that leads from one member to other members.
  double port(DeviceId m) const {
    double sum = 0;
    if (fabric_.of_platform()) {
      for (const std::uint32_t w : fabric_.wires().wires_of(m.value))
        sum += fabric_.link(fabric_.wire_link({0}, w)).bandwidth.value();
      return sum;
    }
    // A NIC is used only when somebody is outside the super-node.
    if (in_super(m) < members_.size()) sum += nic(m);
    const bool leaves_node = in_node(m) < in_super(m);
    // One port carries what goes inside the node and what leaves it.
    if (fabric_.super_behind_ports() && in_node(m) > 1)
      return sum + bandwidth(LinkKind::port_up, m);
    if (leaves_node) sum += super(m);
    // Wires of the device itself, whatever passes over them.
    if (const NodeWires& wires = fabric_.wires(); !wires.empty() && in_node(m) > 1) {
      const NodeId node = fabric_.node_of(m);
      for (const std::uint32_t w : wires.wires_of(m.value % wires.devices()))
        sum += fabric_.link(fabric_.wire_link(node, w)).bandwidth.value();
      return sum;
    }
    // Links of its own for each mesh partner; a port or bridge once, for all others.
    bool shared = false;
    for (const DeviceId other : nodes_.at(fabric_.node_of(m).value)) {
      if (other == m) continue;
      if (fabric_.same_mesh(m, other))
        sum += fabric_.link(fabric_.mesh_link(m, other)).bandwidth.value();
      else
        shared = true;
    }
    return shared ? sum + bandwidth(fabric_.node_ports().value(), m) : sum;
  }

  /// Pods likewise.
  void pod_cuts() {
    if (fabric_.pods() == 0) return;
    std::map<std::uint32_t, Members> below;
    for (const DeviceId m : members_) below[fabric_.pod_of(m)].push_back(m);
    for (const auto& [pod, part] : below) {
      const LinkId up = fabric_.pod_link(LinkKind::pod_up, pod);
      // A super-node that reaches into another pod would have a second way out.
      const bool closed = std::ranges::all_of(part, [&](DeviceId m) {
        return std::ranges::all_of(supers_.at(fabric_.super_node_of(m)), [&](DeviceId other) {
          return fabric_.pod_of(other) == fabric_.pod_of(m);
        });
      });
      if (closed) cut(part, fabric_.link(up).bandwidth.value());
    }
  }

  /// Groups of a dragonfly, by all of their global channels: bytes may take any way.
  void group_cuts() {
    const Dragonfly& fly = fabric_.dragonfly();
    if (fly.empty()) return;
    std::map<std::uint32_t, Members> below;
    for (const DeviceId m : members_) below[fabric_.group_of(m)].push_back(m);
    for (const auto& [group, part] : below) {
      const bool closed = std::ranges::all_of(part, [&](DeviceId m) {
        return std::ranges::all_of(supers_.at(fabric_.super_node_of(m)), [&](DeviceId other) {
          return fabric_.group_of(other) == fabric_.group_of(m);
        });
      });
      // Any way over another group begins with one of the own global channels.
      double out = 0;
      for (std::uint32_t other = 0; other < fly.groups(); ++other)
        if (other != group)
          out += fabric_.link(fabric_.channel_link(LinkKind::global, fly.global(group, other)))
                     .bandwidth.value();
      if (closed) cut(part, out);
    }
  }

  /// Leaves that hold super-nodes (or nodes) altogether, so that nothing else leads out of them.
  void leaf_cuts() {
    if (fabric_.block(LinkKind::leaf_up).count == 0) return;
    std::map<std::uint32_t, Members> below;
    for (const DeviceId m : members_) below[fabric_.leaf_of(m)].push_back(m);
    for (const auto& [leaf, part] : below) {
      const LinkId up = fabric_.leaf_link(LinkKind::leaf_up, leaf);
      // Leaves that share a super-node are joined by it as well: no cut.
      const bool closed = std::ranges::all_of(part, [&](DeviceId m) {
        return std::ranges::all_of(supers_.at(fabric_.super_node_of(m)), [&](DeviceId other) {
          return fabric_.leaf_of(other) == fabric_.leaf_of(m);
        });
      });
      if (closed) cut(part, fabric_.link(up).bandwidth.value());
    }
  }

  const Fabric& fabric_;
  std::span<const DeviceId> members_;
  CollectiveCall call_;
  std::map<std::uint32_t, Members> nodes_, supers_;
  double slowest_ = 0;
};

}  // namespace

Seconds bandwidth_bound(const Fabric& fabric, std::span<const DeviceId> members,
                        const CollectiveCall& call) {
  if (members.size() < 2) return Seconds{0};
  return Bound(fabric, members, call).value();
}

}  // namespace stepcast
