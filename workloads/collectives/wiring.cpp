#include "wiring.hpp"

#include <algorithm>

namespace stepcast::collectives {
namespace {

std::uint32_t count(std::size_t n) { return static_cast<std::uint32_t>(n); }

}  // namespace

Wiring::Wiring(const Fabric& fabric, std::span<const DeviceId> members)
    : super_behind_ports_{fabric.super_behind_ports()},
      super_saturates_{!super_behind_ports_ ||
                       fabric.can_saturate({fabric.block(LinkKind::super_up).first})},
      mesh_size_{static_cast<std::uint32_t>(fabric.mesh_size())} {
  seats_.reserve(members.size());
  for (const DeviceId m : members) seats_.push_back({m.value, 0, 0, 0, 0, 0, 0, 0});
  // Mostly they are sorted already.
  if (!std::ranges::is_sorted(seats_, {}, &Seat::device))
    std::ranges::sort(seats_, {}, &Seat::device);
  take_seats(fabric);
  if (fabric.trunks_can_saturate()) take_leaves(fabric);
  if (fabric.pods_can_saturate()) take_pods(fabric);

  const std::uint32_t size = count(seats_.size());
  if (!fabric.wires().empty()) {
    wires_ = &fabric.wires();
    ranges_[static_cast<std::size_t>(Part::wire)].up_link = fabric.block(LinkKind::wire).first;
    slots_ = count(nodes_.size()) * wires_->count();
  }
  if (mesh_size_ > 0) {
    ranges_[0].up_link = fabric.block(LinkKind::mesh).first;
    slots_ = size * (mesh_size_ - 1);
  }
  for (std::size_t kind = 0; kind < link_kinds; ++kind)
    take_slots(fabric, static_cast<LinkKind>(kind));
  take_latencies(fabric);
  take_channels(fabric);
}

void Wiring::watch(std::uint32_t seats) {
  watched_ = seats;
  // Leaves and pods are watched with the members below them.
  for (Above& leaf : leaves_) leaf.watched = false;
  for (Above& pod : pods_) pod.watched = false;
  for (std::size_t i = 0; i < std::min<std::size_t>(seats, seats_.size()); ++i) {
    if (!leaves_.empty()) leaves_[seats_[i].leaf].watched = true;
    if (!pods_.empty()) pods_[seats_[i].pod].watched = true;
  }
}

void Wiring::take_seats(const Fabric& fabric) {
  first_device_ = seats_.front().device;
  // Devices of a group lie close together: a plain list from the first one on.
  seat_of_.resize(seats_.back().device - first_device_ + 1);
  const auto node_devices = static_cast<std::uint32_t>(fabric.cluster().node_devices);
  const bool own_nic = fabric.cluster().network.nic.per == NicSpec::Per::device;
  std::uint32_t node_end = 0, node = 0, super_node = 0, super_index = 0;
  for (std::uint32_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = seats_[i];
    seat_of_[seat.device - first_device_] = i;
    // Seats ascend, so that nodes end one after another.
    const bool new_node = seat.device >= node_end;
    if (new_node) {
      const std::uint32_t super = fabric.super_node_of({seat.device});
      if (i > 0) ++node;
      if (i > 0 && super != super_index) ++super_node;
      super_index = super;
      node_end = (fabric.node_of({seat.device}).value + 1) * node_devices;
    }
    // A platform file counts as one wired node.
    if (new_node && !fabric.wires().empty()) {
      const std::uint32_t wired = fabric.wired_node_of({seat.device}).value;
      if (nodes_.empty() || nodes_.back() != wired) nodes_.push_back(wired);
    }
    if (own_nic || new_node) nics_.push_back(fabric.nic_of({seat.device}));
    seat.node = node;
    // A platform file has no super-nodes: its links say everything.
    seat.super_node = fabric.of_platform() ? 0 : super_node;
    seat.wired = fabric.wires().empty() ? node : count(nodes_.size() - 1);
    // Members of one mesh have links to each other that wait for no others.
    const bool apart =
        fabric.wires().empty() || (fabric.of_platform() && fabric.wires().one_port());
    // Seats of one number have links of their own; others queue at a port.
    seat.mesh = mesh_size_ > 0 ? seat.device / mesh_size_ : apart ? i : seat.wired;
    seat.nic = count(nics_.size() - 1);
  }
}

void Wiring::take_leaves(const Fabric& fabric) {
  std::vector<std::uint32_t> leaf_of;
  leaf_of.reserve(seats_.size());
  for (const Seat& seat : seats_) leaf_of.push_back(fabric.leaf_of({seat.device}));
  std::vector<std::uint32_t> used = leaf_of;
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  // Places ascend with leaves, as slots have to.
  for (const std::uint32_t leaf : used)
    leaves_.push_back({leaf, fabric.can_saturate(fabric.leaf_link(LinkKind::leaf_up, leaf))});
  // No trunk can be full: none is counted.
  if (std::ranges::none_of(leaves_, &Above::saturates)) return leaves_.clear();
  for (std::size_t i = 0; i < seats_.size(); ++i)
    seats_[i].leaf = count(std::ranges::lower_bound(used, leaf_of[i]) - used.begin());
}

void Wiring::take_pods(const Fabric& fabric) {
  // A group has few pods.
  for (Seat& seat : seats_) {
    const std::uint32_t pod = fabric.pod_of({seat.device});
    auto at = std::ranges::find(pods_, pod, &Above::index);
    if (at == pods_.end())
      at = pods_.insert(at, {pod, fabric.can_saturate(fabric.pod_link(LinkKind::pod_up, pod))});
    seat.pod = count(at - pods_.begin());
  }
  if (std::ranges::none_of(pods_, &Above::saturates)) pods_.clear();
}

std::uint32_t Wiring::places(LinkOwner owner) const {
  // Pairs, wires and channels have slots of their own, PCIe switches none.
  switch (owner) {
    case LinkOwner::pair:
    case LinkOwner::wire:
    case LinkOwner::channel:
    case LinkOwner::pcie_switch:
      return 0;
    case LinkOwner::device:
      return count(seats_.size());
    case LinkOwner::nic:
      return count(nics_.size());
    case LinkOwner::pod:
      return count(pods_.size());
    case LinkOwner::leaf:
      break;
  }
  return count(leaves_.size());
}

void Wiring::take_slots(const Fabric& fabric, LinkKind up) {
  const LinkKindInfo kind = info(up);
  // Downward links follow those upward: one call for both.
  if (kind.direction != LinkDirection::up || fabric.block(up).count == 0) return;
  if (kind.family.tier == LinkTier::host) return;  // what a NIC sends says what crosses it
  const std::uint32_t links = places(kind.family.owner);
  ranges_[static_cast<std::size_t>(kind.family.tier)] = {
      slots_, slots_ + links, fabric.block(up).first, fabric.block(kind.reverse).first};
  slots_ += 2 * links;
}

void Wiring::take_latencies(const Fabric& fabric) {
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  const auto route = [&](LinkKind kind) { return fabric.block(kind).latency; };
  const Seconds ports = fabric.node_ports() ? route(*fabric.node_ports()) : Seconds{0};
  node_step_ = library.node_step_latency;
  step_ = library.step_latency;
  // In the order of LinkTier: route and the library's step.
  latency_ = {route(LinkKind::mesh) + library.node_step_latency,
              node_step_,
              ports + library.node_step_latency,
              route(LinkKind::super_up) + library.node_step_latency +
                  (super_behind_ports_ ? ports : Seconds{0}),
              route(LinkKind::nic_up) + library.step_latency,
              Seconds{0},
              Seconds{0},
              Seconds{0},
              Seconds{0}};
}

void Wiring::take_channels(const Fabric& fabric) {
  if (fabric.dragonfly().empty()) return;
  dragonfly_ = &fabric.dragonfly();
  const Fabric::Block &local = fabric.block(LinkKind::local),
                      &global = fabric.block(LinkKind::global);
  // Channels are numbered behind each other, local before global, so that one index finds both load
  // and latency.
  first_channel_ = local.first;
  locals_ = local.count;
  channels_ = local.count + global.count;
  local_latency_ = local.latency;
  global_latency_ = global.latency;
  for (const Seat& seat : seats_) routers_.push_back(fabric.leaf_of({seat.device}));
}

}  // namespace stepcast::collectives
