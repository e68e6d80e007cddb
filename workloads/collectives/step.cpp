#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "schedule.hpp"
#include "stepcast/base/errors.hpp"
#include "wiring.hpp"

namespace stepcast::collectives {
namespace {

/// Of a dragonfly: how many pairs of members have a way that leads over each channel
/// (docs/models/collectives.md). A pair goes from its router to the one that has the channel
/// between both groups, over that channel, and on to the router of the other member.
class ChannelPairs {
 public:
  struct Load {
    double pairs = 0;
    Seconds way;  // the slowest over this channel
  };

  /// Wiring of a dragonfly, which outlives this.
  explicit ChannelPairs(const Wiring& wiring) : wiring_(wiring), fly_(wiring.dragonfly()) {}

  /// Adds all pairs among members (their seats) `sign` times: -1 takes off what was added.
  void count(std::span<const std::uint32_t> members, double sign) {
    Groups groups;
    // Members are counted below each router, since pairs of equal ends load the same channels.
    for (const std::uint32_t i : members)
      ++groups[fly_.group_of(wiring_.router(i))][wiring_.router(i)];
    for (const auto& [g, routers] : groups) {
      // Leaves of a dragonfly+ meet at the spines, without channels inside the group.
      if (!fly_.plus()) inside(routers, sign);
      for (const auto& [h, others] : groups)
        if (g != h) between(g, h, groups, sign);
    }
  }

  /// By channel.
  const std::map<std::uint32_t, Load>& loads() const { return loads_; }

 private:
  using Routers = std::map<std::uint32_t, double>;  // members below each
  using Groups = std::map<std::uint32_t, Routers>;

  void inside(const Routers& routers, double sign) {
    for (const auto& [from, senders] : routers)
      for (const auto& [to, receivers] : routers) {
        if (from == to) continue;
        Load& load = loads_[fly_.local(from, to)];
        // Ordered pairs: what these send to those.
        load.pairs += sign * senders * receivers;
        load.way = wiring_.local_latency();
      }
  }

  void between(std::uint32_t g, std::uint32_t h, const Groups& groups, double sign) {
    const auto all = [](const Routers& routers) {
      double sum = 0;
      for (const auto& [router, members] : routers) sum += members;
      return sum;
    };
    // Whether some member of a group is below another router than its gate.
    const auto beside = [](const Routers& routers, std::uint32_t gate) {
      return routers.size() > 1 || routers.begin()->first != gate;
    };
    const Routers &own = groups.at(g), &others = groups.at(h);
    const double peers = all(others);
    // Everybody here sends to everybody there.
    Seconds way = wiring_.global_latency();
    if (!fly_.plus()) {
      // The gateway has the channel; members below other routers of the group go there first.
      const std::uint32_t gate = fly_.gateway(g, h);
      for (const auto& [router, members] : own) {
        if (router == gate) continue;
        loads_[fly_.local(router, gate)].pairs += sign * members * peers;
        loads_[fly_.local(gate, router)].pairs += sign * members * peers;
      }
      // The slowest way: a local hop on each side where somebody is not below the gateway.
      way += wiring_.local_latency() * (beside(own, gate) ? 1 : 0);
      way += wiring_.local_latency() * (beside(others, fly_.gateway(h, g)) ? 1 : 0);
    }
    Load& global = loads_[wiring_.global_channel(fly_.global(g, h))];
    global.pairs += sign * all(own) * peers;
    global.way = std::max(global.way, way);
  }

  const Wiring& wiring_;
  const Dragonfly& fly_;
  std::map<std::uint32_t, Load> loads_;
};

/// Calls at(run) for every longest run of elements that agree in `key`.
template <class T, class Key, class At>
void each_run(std::span<const T> all, const Key& key, const At& at) {
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && key(all[end]) == key(all[i])) ++end;
    at(all.subspan(i, end - i));
    i = end;
  }
}

double size_of(const auto& run) { return static_cast<double>(run.size()); }

}  // namespace

void Step::clear() {
  messages_.clear();
  // Only what was touched has to be wiped.
  for (std::size_t p = 0; p < link_tiers; ++p)
    if (touched_[p])
      wiring_->each_link(static_cast<Part>(p), first_, last_,
                         [&](std::uint32_t slot, LinkId) { loads_[slot] = 0; });
  for (const std::uint32_t channel : channels_) channel_loads_[channel] = 0;
  channels_.clear();
  touched_ = {};
  first_ = UINT32_MAX;
  last_ = 0;
  latency_ = Seconds{0};
}

void Step::post(DeviceId from, DeviceId to, Bytes bytes) {
  // The number decides memory and time of the run: it is refused before it is used.
  if (messages_.size() == most_pairwise_messages)
    refuse_input({}, "simulate.network",
                 "is pairwise, but a step of a call has more than " +
                     std::to_string(most_pairwise_messages) +
                     " messages, allowed: ports, or groups whose calls have fewer");
  messages_.push_back({from, to, bytes});
}

void Step::touch(Part part, std::uint32_t seat) {
  touched_[static_cast<std::size_t>(part)] = true;
  // Range of seats with something on their links, as far as anybody watches.
  if (!wiring_->watches(seat)) return;
  first_ = std::min(first_, seat);
  last_ = std::max(last_, seat);
}

void Step::add(Part part, std::uint32_t seat, std::uint32_t place, double bytes) {
  if (bytes <= 0 || !wiring_->watches(seat)) return;
  touch(part, seat);
  // What a member exchanges with others goes out and comes in alike.
  loads_[wiring_->up(part, place)] += bytes;
  loads_[wiring_->down(part, place)] += bytes;
}

void Step::pass(Part part, std::uint32_t from, std::uint32_t to, double bytes) {
  leave(part, from, from, bytes);
  reach(part, to, to, bytes);
}

/// Links of seats that nobody watches keep what they have, and nobody asks.
void Step::leave(Part part, std::uint32_t seat, std::uint32_t place, double bytes) {
  touch(part, seat);
  if (wiring_->watches(seat)) loads_[wiring_->up(part, place)] += bytes;
}

void Step::reach(Part part, std::uint32_t seat, std::uint32_t place, double bytes) {
  touch(part, seat);
  if (wiring_->watches(seat)) loads_[wiring_->down(part, place)] += bytes;
}

bool Step::counts_some(const Members& members) const {
  return wiring_->channels() || std::ranges::any_of(members, [&](DeviceId m) {
           return wiring_->watches(wiring_->seat_of(m));
         });
}

void Step::send_between(std::uint32_t i, std::uint32_t j, Bytes bytes) {
  const Wiring::Seat &from = wiring_->seat(i), &to = wiring_->seat(j);
  const Part part = wiring_->between(from, to);
  if (part == Part::wire) return send_over_wires(i, j, bytes);
  // Every message counts for the latency, also one without bytes.
  cross(part);
  if (part == Part::nic && wiring_->channels()) send_over_channels(i, j, bytes.value());
  if (bytes.value() <= 0) return;
  if (form_ == NetworkForm::pairwise) return post({from.device}, {to.device}, bytes);
  if (part == Part::mesh) {
    touch(part, i);
    touch(part, j);
    loads_[wiring_->mesh(i, j)] += bytes.value();
    return;
  }
  // A switched node has the device's port on the way, and the plane behind it.
  if (part == Part::super_node && wiring_->super_behind_ports()) {
    pass(Part::node, i, j, bytes.value());
    if (wiring_->super_saturates()) pass(part, i, j, bytes.value());
    return;
  }
  const bool nic = part == Part::nic;
  // A NIC of the node is shared by its devices: its place is not the seat.
  leave(part, i, nic ? from.nic : i, bytes.value());
  reach(part, j, nic ? to.nic : j, bytes.value());
  if (nic && wiring_->trunks()) climb(Part::trunk, i, from.leaf, to.leaf, bytes.value());
  if (nic && wiring_->pods()) climb(Part::pod, i, from.pod, to.pod, bytes.value());
}

/// Through what stands above leaves or pods, where the two differ.
void Step::climb(Part part, std::uint32_t seat, std::uint32_t from, std::uint32_t to,
                 double bytes) {
  if (from == to) return;
  touch(part, seat);
  // Trunks that can never be full are left out of flows.
  if (wiring_->can_saturate(part, from)) loads_[wiring_->up(part, from)] += bytes;
  if (wiring_->can_saturate(part, to)) loads_[wiring_->down(part, to)] += bytes;
}

void Step::add_to_channel(std::uint32_t channel, double bytes) {
  // Most steps use no channel at all.
  if (channel_loads_.empty()) channel_loads_.resize(wiring_->channel_count());
  if (channel_loads_[channel] == 0) channels_.push_back(channel);
  channel_loads_[channel] += bytes;
}

void Step::send_over_channels(std::uint32_t i, std::uint32_t j, double bytes) {
  // As pairs, routes are listed with the messages.
  const bool counted = form_ == NetworkForm::ports && bytes > 0;
  const Seconds way = wiring_->each_channel(i, j, [&](std::uint32_t channel) {
    if (counted) add_to_channel(channel, bytes);
  });
  latency_ = std::max(latency_, wiring_->latency(Part::nic) + way);
}

/// The latency of a message is that of its own way.
void Step::send_over_wires(std::uint32_t i, std::uint32_t j, Bytes bytes) {
  const bool counted = form_ == NetworkForm::ports && bytes.value() > 0;
  if (counted) {
    touch(Part::wire, i);
    touch(Part::wire, j);
  }
  const Seconds way = wiring_->each_wire(i, j, [&](std::uint32_t slot) {
    if (counted) loads_[slot] += bytes.value();
  });
  latency_ = std::max(latency_, way);
  if (form_ == NetworkForm::pairwise && bytes.value() > 0)
    post({wiring_->seat(i).device}, {wiring_->seat(j).device}, bytes);
}

void Step::pairs_in_node(std::span<const std::uint32_t> seats, double bytes) {
  if (!wiring_->watches(seats.front())) return;  // nor others of the node
  if (wiring_->wired()) {
    for (const std::uint32_t i : seats)
      for (const std::uint32_t j : seats)
        if (i != j) send_over_wires(i, j, Bytes{bytes});
    return;
  }
  // One port for all peers: counted per member instead of per pair.
  if (!wiring_->meshes()) {
    const auto peers = static_cast<double>(seats.size() - 1);
    for (const std::uint32_t i : seats) add(Part::node, i, i, peers * bytes);
    return;
  }
  // Meshes have a link per pair; across meshes of a node bytes go over ports or bridges.
  for (const std::uint32_t i : seats)
    for (const std::uint32_t j : seats) {
      if (i == j) continue;
      const Part part = wiring_->between(wiring_->seat(i), wiring_->seat(j));
      if (bytes > 0) touch(part, i);
      if (part == Part::mesh) {
        loads_[wiring_->mesh(i, j)] += bytes;
      } else {
        loads_[wiring_->up(part, i)] += bytes;
        loads_[wiring_->down(part, j)] += bytes;
      }
    }
}

Seconds Step::slowest_message(const Members& members) const {
  Seconds slowest{0};
  const auto meet = [&](DeviceId a, DeviceId b) {
    const Part part =
        wiring_->between(wiring_->seat(wiring_->seat_of(a)), wiring_->seat(wiring_->seat_of(b)));
    slowest = std::max(slowest, wiring_->latency(part));
  };
  for (std::size_t i = 1; i < members.size(); ++i) {
    // Every locality that some pair of an ascending list has occurs among these pairs.
    meet(members[0], members[i]);
    meet(members[i - 1], members[i]);
  }
  return slowest;
}

void Step::send_all_pairs(const Members& members, Bytes bytes) {
  if (!counts_some(members)) return;
  Seats seats;
  seats.reserve(members.size());
  for (const DeviceId m : members) seats.push_back(wiring_->seat_of(m));
  latency_ = std::max(latency_, slowest_message(members));
  // As pairs each message is a flow; latencies are those of all.
  if (form_ == NetworkForm::pairwise) {
    for (const DeviceId a : members)
      for (const DeviceId b : members) send(a, b, bytes);
    return;
  }
  // Runs of equal node and super-node need ascending seats.
  if (!std::ranges::is_sorted(seats)) std::ranges::sort(seats);
  const auto super_of = [&](std::uint32_t i) { return wiring_->seat(i).super_node; };
  const auto node_of = [&](std::uint32_t i) { return wiring_->seat(i).wired; };
  each_run(std::span<const std::uint32_t>(seats), super_of, [&](auto super) {
    // Members outside the super-node are reached over NICs, all others nearer by.
    const double outside = (size_of(seats) - size_of(super)) * bytes.value();
    each_run(super, node_of, [&](auto node) {
      pairs_in_node(node, bytes.value());
      // Members of other nodes in the same super-node.
      const double near = (size_of(super) - size_of(node)) * bytes.value();
      for (const std::uint32_t i : node) {
        if (wiring_->super_behind_ports()) add(Part::node, i, i, near);
        if (wiring_->super_saturates()) add(Part::super_node, i, i, near);
        add(Part::nic, i, wiring_->seat(i).nic, outside);
      }
    });
  });
  // Everybody is in one super-node: nothing is above it.
  if (super_of(seats.front()) == super_of(seats.back())) return;
  if (wiring_->channels()) load_channels(seats, bytes.value());
  if (wiring_->trunks()) load_trunks(Part::trunk, &Wiring::Seat::leaf, seats, bytes.value());
  if (wiring_->pods()) load_trunks(Part::pod, &Wiring::Seat::pod, seats, bytes.value());
}

void Step::send_at_once(const Members& members, Bytes bytes) {
  if (!counts_some(members)) return;
  // Latency is set anew: what send_all_pairs() finds is that of single messages.
  const Seconds before = std::exchange(latency_, Seconds{0});
  send_all_pairs(members, bytes);
  std::size_t most = 1;  // messages through one port
  if (!wiring_->meshes() && !wiring_->wired()) {
    // All peers are behind one port.
    most = members.size() - 1;
  } else {
    // Mesh partners have links of their own; only the others queue at the port.
    std::vector<std::uint32_t> meshes;
    meshes.reserve(members.size());
    for (const DeviceId m : members) meshes.push_back(wiring_->seat(wiring_->seat_of(m)).mesh);
    std::ranges::sort(meshes);
    each_run(std::span<const std::uint32_t>(meshes), std::identity{},
             [&](auto mesh) { most = std::max(most, meshes.size() - mesh.size()); });
  }
  // Ways over wires and channels differ, those over ports are alike.
  const bool differ = wiring_->wired() || wiring_->channels();
  const Seconds slowest = differ ? latency_ : slowest_message(members);
  latency_ =
      std::max({before, latency_, slowest + wiring_->node_step() * static_cast<double>(most - 1)});
}

/// Pairs are counted by router and group; those of one super-node, which stay inside, are taken off
/// again before bytes are counted. Only channels that carry something have a latency.
void Step::load_channels(const Seats& seats, double bytes) {
  ChannelPairs pairs(*wiring_);
  pairs.count(seats, 1);
  each_run(
      std::span<const std::uint32_t>(seats),
      [&](std::uint32_t i) { return wiring_->seat(i).super_node; },
      [&](auto super) { pairs.count(super, -1); });
  for (const auto& [channel, load] : pairs.loads()) {
    if (load.pairs <= 0) continue;
    latency_ = std::max(latency_, wiring_->latency(Part::nic) + load.way);
    if (bytes > 0) add_to_channel(channel, load.pairs * bytes);
  }
}

void Step::load_trunks(Part part, std::uint32_t Wiring::Seat::*above, const Seats& seats,
                       double bytes) {
  struct Place {
    std::uint32_t leaf, super_node;
    double in_super;  ///< members of the super-node
  };
  // Who stands below which leaf, and how many of its super-node the group has.
  std::vector<Place> places;
  places.reserve(seats.size());
  const auto super_of = [&](std::uint32_t i) { return wiring_->seat(i).super_node; };
  each_run(std::span<const std::uint32_t>(seats), super_of, [&](auto super) {
    for (const std::uint32_t i : super)
      places.push_back({wiring_->seat(i).*above, super_of(i), size_of(super)});
  });
  // By leaf, then by super-node: both become runs.
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tie(a.leaf, a.super_node) < std::tie(b.leaf, b.super_node);
  });
  const auto leaf_of = [](const Place& place) { return place.leaf; };
  const auto super_at = [](const Place& place) { return place.super_node; };
  each_run(std::span<const Place>(places), leaf_of, [&](auto below) {
    const std::uint32_t leaf = below.front().leaf;
    if (!wiring_->can_saturate(part, leaf)) return;
    // Pairs below one leaf, or inside one super-node, do not cross the trunk.
    each_run(below, super_at, [&](auto together) {
      // Peers of another super-node that are not below the same leaf.
      const double peers =
          size_of(seats) - together.front().in_super - (size_of(below) - size_of(together));
      add(part, seats.front(), leaf, size_of(together) * peers * bytes);
    });
  });
}

// Plans are shared between groups, so failed links are replaced where a plan is put on links.
void Step::add_messages(const Fabric& fabric, double times, std::vector<PhaseFlow>& flows) const {
  // As pairs a message is a flow over its whole route, with the latency of the step.
  for (const Message& message : messages_) {
    PhaseFlow& flow = flows.emplace_back(PhaseFlow{latency_ * times, message.bytes * times, {}});
    for (const LinkId link : fabric.intact_route(message.from, message.to))
      if (fabric.can_saturate(link)) flow.links.push_back({link, 1});
    std::ranges::sort(flow.links, {}, &LinkWeight::link);
  }
}

/// A flow counts what it puts on its members' own links, whose shares go by flow, so that it is not
/// more or less than others there because it also crosses a trunk.
void Step::write_flow(double times, PhaseFlow& flow) const {
  flow.links.clear();
  double largest = 0;
  for (std::size_t p = 0; p < link_tiers; ++p)
    if (touched_[p])
      wiring_->each_link(static_cast<Part>(p), first_, last_, [&](std::uint32_t slot, LinkId link) {
        const double bytes = loads_[slot];
        if (bytes == 0) return;
        if (wiring_->counts(static_cast<Part>(p), link)) largest = std::max(largest, bytes);
        flow.links.push_back({link, bytes});
      });
  std::vector<std::uint32_t> channels = channels_;
  // Channels come in the order in which they were first used.
  std::ranges::sort(channels);
  for (const std::uint32_t channel : channels)
    flow.links.push_back({wiring_->channel_link(channel), channel_loads_[channel]});
  // Weights are relative to the fullest link of a member.
  for (LinkWeight& use : flow.links) use.weight /= largest;
  flow.bytes = Bytes{largest * times};
  flow.latency = latency_ * times;
}

}  // namespace stepcast::collectives
