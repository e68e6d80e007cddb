#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stepcast/topology/fabric.hpp"

/// The links that messages between members of one group can cross, for adding up bytes fast.
namespace stepcast::collectives {

/// Parts of the fabric that a message can cross, as their links follow each other by id.
using Part = LinkTier;

/// Members have seats, in ascending order of device; links have slots without gaps, in ascending
/// order of link.
class Wiring {
 public:
  struct Seat {
    std::uint32_t device, node, super_node;  ///< node, super-node: counted over the group
    std::uint32_t wired;                     ///< what its wires join: the node, or all
    std::uint32_t mesh;                      ///< the seat itself where there are no meshes
    /// Counted over the group; leaf and pod only where their trunks can saturate.
    std::uint32_t nic, leaf, pod;
  };
  Wiring(const Fabric& fabric, std::span<const DeviceId> members);

  /// From now on only links of the first `seats` are counted and listed. What is above leaves and
  /// pods goes with those below it.
  void watch(std::uint32_t seats);
  bool watches(std::uint32_t seat) const { return seat < watched_; }
  bool watches_all() const { return watched_ >= seats_.size(); }

  std::uint32_t seat_of(DeviceId member) const { return seat_of_[member.value - first_device_]; }
  const Seat& seat(std::uint32_t index) const { return seats_[index]; }
  /// A zero for each slot. What a step gives back, once it has wiped it, serves the next one: most
  /// steps load few of thousands of links.
  std::vector<double> take_zeros() const {
    return zeros_.empty() ? std::vector<double>(slots_) : std::exchange(zeros_, {});
  }
  void keep_zeros(std::vector<double> zeros) const { zeros_ = std::move(zeros); }
  bool meshes() const { return mesh_size_ > 0; }
  bool trunks() const { return !leaves_.empty(); }  ///< some trunk can saturate
  bool pods() const { return !pods_.empty(); }
  bool can_saturate(Part part, std::uint32_t place) const {
    return (part == Part::pod ? pods_ : leaves_)[place].saturates;
  }
  /// Messages between nodes of a super-node cross the links of the node part too.
  bool super_behind_ports() const { return super_behind_ports_; }
  bool super_saturates() const { return super_saturates_; }

  /// The part that joins two members; those of different super-nodes: nic.
  Part between(const Seat& a, const Seat& b) const {
    if (wires_ != nullptr && a.wired == b.wired) return Part::wire;
    if (a.node == b.node) return a.mesh == b.mesh ? Part::mesh : Part::node;
    return a.super_node == b.super_node ? Part::super_node : Part::nic;
  }
  /// Time of a message over that part before its bytes: route and library [s].
  Seconds latency(Part part) const { return latency_[static_cast<std::size_t>(part)]; }

  /// The same over the wires between two seats of a node; calls at(slot) for each wire on the way.
  template <class At>
  Seconds each_wire(std::uint32_t from, std::uint32_t to, const At& at) const;
  bool wired() const { return wires_ != nullptr; }
  /// The wires are those of a platform file and join devices of all nodes.
  bool of_platform() const { return wires_ != nullptr && wires_->platform() != nullptr; }
  /// A flow is counted by what it puts on the links of its members, not on those between switches.
  bool counts(Part part, LinkId link) const {
    if (part != Part::wire) return part < Part::trunk;
    return !wires_->between_switches((link.value - range(part).up_link) % wires_->count());
  }
  /// Calls at(channel) for each channel of a dragonfly between the routers of two seats, and gives
  /// their latency.
  template <class At>
  Seconds each_channel(std::uint32_t from, std::uint32_t to, const At& at) const;
  bool channels() const { return dragonfly_ != nullptr; }
  const Dragonfly& dragonfly() const { return *dragonfly_; }
  std::uint32_t router(std::uint32_t seat) const { return routers_[seat]; }
  std::uint32_t channel_count() const { return channels_; }
  LinkId channel_link(std::uint32_t channel) const { return {first_channel_ + channel}; }
  /// Both kinds of channel by one number: local ones, then global ones.
  std::uint32_t global_channel(std::uint32_t number) const { return locals_ + number; }
  Seconds local_latency() const { return local_latency_; }
  Seconds global_latency() const { return global_latency_; }

  Seconds node_step() const { return node_step_; }  ///< the library's part of that in a super-node

  /// Slots of the links up and down; the place is a seat, NIC or leaf by part.
  std::uint32_t up(Part part, std::uint32_t place) const { return range(part).up + place; }
  std::uint32_t down(Part part, std::uint32_t place) const { return range(part).down + place; }
  /// Slot of the mesh link between two seats of one mesh.
  std::uint32_t mesh(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t place = seats_[to].device % mesh_size_;
    const bool after = place > seats_[from].device % mesh_size_;
    return range(Part::mesh).up + from * (mesh_size_ - 1) + place - (after ? 1 : 0);
  }

  /// Calls at(slot, link) for the links of a part that belong to the seats first..last, ascending.
  template <class At>
  void each_link(Part part, std::uint32_t first, std::uint32_t last, const At& at) const;

 private:
  struct Range {
    std::uint32_t up = 0, down = 0;            ///< first slots
    std::uint32_t up_link = 0, down_link = 0;  ///< link ids of place 0 of the whole fabric
  };
  struct Above {
    std::uint32_t index;
    bool saturates;
    bool watched = true;
  };
  const Range& range(Part part) const { return ranges_[static_cast<std::size_t>(part)]; }
  void take_seats(const Fabric& fabric);
  void take_leaves(const Fabric& fabric);
  void take_pods(const Fabric& fabric);
  std::uint32_t places(LinkOwner owner) const;  ///< links of one direction
  /// Of both directions, when `up` is a way up that the fabric has.
  void take_slots(const Fabric& fabric, LinkKind up);
  void take_latencies(const Fabric& fabric);
  void take_channels(const Fabric& fabric);

  bool super_behind_ports_, super_saturates_;
  mutable std::vector<double> zeros_;
  std::vector<Seat> seats_;
  std::vector<std::uint32_t> seat_of_;  ///< by device from the first one on
  const NodeWires* wires_ = nullptr;    ///< none without them
  std::vector<std::uint32_t> nodes_;    ///< indices over the fabric, where there are wires
  std::vector<std::uint32_t> nics_;     ///< indices over the fabric
  std::vector<Above> leaves_, pods_;
  std::uint32_t first_device_ = 0, mesh_size_ = 0, slots_ = 0;
  std::uint32_t watched_ = UINT32_MAX;
  std::array<Range, link_tiers> ranges_{};
  std::array<Seconds, link_tiers> latency_{};
  Seconds node_step_{0}, step_{0};
  const Dragonfly* dragonfly_ = nullptr;  ///< none without one
  std::vector<std::uint32_t> routers_;    ///< [seat]
  std::uint32_t first_channel_ = 0, channels_ = 0, locals_ = 0;
  Seconds local_latency_{0}, global_latency_{0};
};

template <class At>
Seconds Wiring::each_wire(std::uint32_t from, std::uint32_t to, const At& at) const {
  const std::uint32_t size = wires_->devices(), count = wires_->count();
  std::vector<std::uint32_t> way;
  wires_->route(seats_[from].device % size, seats_[to].device % size, way);
  Seconds sum = seats_[from].node == seats_[to].node ? node_step_ : step_;
  for (const std::uint32_t w : way) {
    sum += wires_->wire(w).latency;
    at(range(Part::wire).up + seats_[from].wired * count + w);
  }
  return sum;
}

template <class At>
Seconds Wiring::each_channel(std::uint32_t from, std::uint32_t to, const At& at) const {
  const Dragonfly::Way way = dragonfly_->way(routers_[from], routers_[to]);
  Seconds sum{0};
  for (const auto& local : {way.first, way.last}) {
    if (!local) continue;
    sum += local_latency_;
    at(*local);
  }
  if (way.across) {
    sum += global_latency_;
    at(global_channel(*way.across));
  }
  return sum;
}

template <class At>
void Wiring::each_link(Part part, std::uint32_t first, std::uint32_t last, const At& at) const {
  const Range& r = range(part);
  if (part == Part::mesh) {
    const std::uint32_t links = mesh_size_ - 1;
    for (std::uint32_t s = first; s <= last; ++s)
      for (std::uint32_t i = 0; i < links; ++i)
        at(r.up + s * links + i, LinkId{r.up_link + seats_[s].device * links + i});
    return;
  }
  if (part == Part::wire) {
    const std::uint32_t wires = wires_->count();
    for (std::uint32_t n = seats_[first].wired; n <= seats_[last].wired; ++n)
      for (std::uint32_t i = 0; i < wires; ++i)
        at(r.up + n * wires + i, LinkId{r.up_link + nodes_[n] * wires + i});
    return;
  }
  const auto above = [&](const std::vector<Above>& places) {
    for (const std::uint32_t way : {0, 1})
      for (std::uint32_t i = 0; i < places.size(); ++i)
        if (places[i].watched)
          at((way == 0 ? r.up : r.down) + i,
             LinkId{(way == 0 ? r.up_link : r.down_link) + places[i].index});
  };
  if (part == Part::pod) return above(pods_);
  if (part == Part::trunk) return above(leaves_);
  const auto both = [&](std::uint32_t from, std::uint32_t to, const auto& index) {
    for (std::uint32_t i = from; i <= to; ++i) at(r.up + i, LinkId{r.up_link + index(i)});
    for (std::uint32_t i = from; i <= to; ++i) at(r.down + i, LinkId{r.down_link + index(i)});
  };
  if (part == Part::nic)
    both(seats_[first].nic, seats_[last].nic, [&](std::uint32_t i) { return nics_[i]; });
  else
    both(first, last, [&](std::uint32_t i) { return seats_[i].device; });
}

}  // namespace stepcast::collectives
