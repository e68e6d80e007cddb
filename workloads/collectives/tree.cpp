#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "algorithms.hpp"
#include "schedule.hpp"

// What NCCL's protocols add to the bytes of its rings and trees: docs/models/collectives.md,
// "NCCL".
namespace stepcast::collectives {
namespace {

/// How many messages in a row cross each part of the fabric; of channels of a dragonfly, the
/// seconds that those on the way take together.
using Hops = std::array<double, link_tiers>;

/// One ring or tree, as it goes through the network once.
struct ChunkPath {
  Hops first{};  ///< before every link is busy
  Hops rest{};   ///< beside the bytes, as far as the protocol allows
  double passes = 1;
  Bytes channel{0};  ///< what a channel carries of it, if a NIC is given whole chunks; else 0
};

/// A call whose chunks follow each other over the same links.
struct Chunked {
  std::string algorithm;
  std::function<void(Step&)> load;  ///< all of its bytes
  std::function<ChunkPath(const Wiring&)> path;
  std::size_t period = 0;  ///< of members that do the same, as in CollectiveCall; 0: none do
  double near = 1;         ///< part of the links inside nodes that it reaches in any protocol
  double far = 1;          ///< as `near`, of NICs
};

/// A chunk of the protocol Simple is passed on in so many slices (NCCL: chunkSteps / sliceSteps).
constexpr double slices = 2;

/// One of the eight steps of a channel's buffer, which is a chunk of a broadcast: of 4 MiB, and of
/// 120 x 640 words of eight bytes, of which 15 in 16 are data (NCCL: init.cc, devcomm.h).
constexpr Bytes simple_step{524288}, ll128_step{576000};

/// Of one protocol. A chunk that leaves line by line waits for no slice.
struct Protocol {
  Seconds start, step, node_step;
  Reached reached;
  double slice;  ///< part of a chunk
  Bytes chunk;   ///< of a broadcast
};

std::vector<Protocol> protocols(const CollectiveLibrarySpec& library, Reached part) {
  // Products of rates: the protocol reaches a part of what NCCL reaches of the links.
  const double near = part.near * library.node_bandwidth, far = part.far;
  std::vector<Protocol> all{{library.ring_start,
                             library.step_latency,
                             library.node_step_latency,
                             {near, far},
                             1 / slices,
                             simple_step}};
  if (const auto& ll = library.ll128)
    all.push_back({ll->start,
                   ll->step_latency,
                   ll->node_step_latency,
                   {near * ll->node_bandwidth, far * ll->bandwidth},
                   0,
                   ll128_step});
  return all;
}

/// Those of the wiring are the routes' and protocol Simple's.
Seconds latency(const Hops& hops, const Wiring& wiring, const CollectiveLibrarySpec& library,
                const Protocol& protocol) {
  Seconds sum{0};
  for (std::size_t p = 0; p < link_tiers; ++p) {
    const auto part = static_cast<Part>(p);
    // Channels of a dragonfly are kept as seconds already.
    if (part == Part::channel) {
      sum += Seconds{hops[p]};
      continue;
    }
    // The wiring has steps of protocol Simple: the difference makes them those of this one.
    const Seconds step = part <= Part::super_node ? protocol.node_step - library.node_step_latency
                                                  : protocol.step - library.step_latency;
    if (hops[p] > 0) sum += hops[p] * (wiring.latency(part) + step);
  }
  return sum;
}

void add_hop(Hops& hops, const Wiring& wiring, DeviceId a, DeviceId b, double times = 1) {
  const std::uint32_t from = wiring.seat_of(a), to = wiring.seat_of(b);
  const Part part = wiring.between(wiring.seat(from), wiring.seat(to));
  // Nearest part of the fabric that joins the two.
  hops[static_cast<std::size_t>(part)] += times;
  if (part == Part::nic && wiring.channels())
    hops[static_cast<std::size_t>(Part::channel)] +=
        times * wiring.each_channel(from, to, [](std::uint32_t) {}).value();
}

/// Hops of a ring but its slowest, which the last chunk does not make.
Hops around(const Wiring& wiring, Group ring) {
  // All hops but one: a chunk makes p - 1 of them.
  Hops hops{};
  for (std::size_t i = 0; i < ring.size(); ++i)
    add_hop(hops, wiring, ring[i], ring[(i + 1) % ring.size()]);
  std::size_t slowest = 0;
  for (std::size_t p = 0; static_cast<Part>(p) < Part::channel; ++p)
    if (hops[p] > 0 && (hops[slowest] == 0 || wiring.latency(static_cast<Part>(p)) >
                                                  wiring.latency(static_cast<Part>(slowest))))
      slowest = p;
  hops[slowest] -= 1;
  return hops;
}

/// The members of the fullest node, in order.
Members fullest_node(const Fabric& fabric, Group members) {
  // The fullest node has the longest chain.
  std::map<std::uint32_t, Members> nodes;
  for (const DeviceId m : members) nodes[fabric.node_of(m).value].push_back(m);
  return std::ranges::max_element(nodes, {}, [](const auto& n) { return n.second.size(); })->second;
}

/// Part of the NICs that a ring over many nodes reaches; trees have no such loss.
double ring_part(const Fabric& fabric, Group members) {
  // A chunk passes every member, so that a ring of one member for each node is a short one. A node
  // or super-node is left once, whatever it holds.
  constexpr double few_members = 32, few_nodes = 4;
  std::set<std::uint32_t> left;
  for (const DeviceId m : members) left.insert(fabric.super_node_of(m));
  const double longer = std::min(static_cast<double>(members.size()) / few_members,
                                 static_cast<double>(left.size()) / few_nodes);
  const double doublings = std::log2(longer);
  return std::pow(1 - fabric.cluster().collectives.ring_loss, std::max(0.0, doublings));
}

/// Whatever is crossed before every link is busy hides no bytes.
ChunkPath ring_path(const Fabric& fabric, const Wiring& wiring, Group members,
                    const std::optional<Split>& parts, double passes) {
  ChunkPath path{.passes = passes};
  const Members node = fullest_node(fabric, members);
  // `first`: d - 1 steps of one node, before its links are busy.
  for (std::size_t i = 1; i < node.size(); ++i) add_hop(path.first, wiring, node[i - 1], node[i]);
  if (!parts) {
    path.rest = around(wiring, members);
    // `rest`: what (2) of docs/models/collectives.md has beside the bytes, without `first`.
  } else {
    const auto nodes = static_cast<double>(parts->inside.size());
    if (parts->inside.size() > 1) path.rest = around(wiring, parts->across.front());
    for (std::size_t p = 0; p < link_tiers; ++p) path.rest[p] += nodes * path.first[p];
  }
  for (std::size_t p = 0; p < link_tiers; ++p)
    path.rest[p] = std::max(0.0, path.rest[p] - path.first[p]);
  return path;
}

/// Of a broadcast only the root has anything to send before the path is filled, so that no step of
/// it hides bytes.
ChunkPath broadcast_path(ChunkPath path, Bytes channel) {
  // Nothing is beside the bytes any more.
  for (std::size_t p = 0; p < link_tiers; ++p) path.first[p] += std::exchange(path.rest[p], 0.0);
  path.channel = channel;
  return path;
}

/// The time of all bytes that pass while a chunk is stored before each NIC of the path.
double stored(const ChunkPath& path, const Protocol& protocol) {
  if (!(path.channel > Bytes{0})) return 0;
  double nics = 0;
  for (auto p = static_cast<std::size_t>(Part::super_node) + 1; p < link_tiers; ++p)
    if (static_cast<Part>(p) != Part::channel) nics += path.first[p];
  return nics * std::min(1.0, protocol.chunk / path.channel);
}

/// As many rings as a node has members, so that every NIC carries one; each crosses between NICs of
/// one index.
void load_ring(Step& step, Group members, const std::optional<Split>& parts, Bytes sent) {
  if (!parts || parts->inside.size() == 1) {
    for (std::size_t i = 0; i < members.size(); ++i)
      step.send(members[i], members[(i + 1) % members.size()], sent);
    return;
  }
  // Inside a node a ring stays (local - 1) of local times, and leaves once.
  const auto local = static_cast<double>(parts->across.size());
  for (const Members& node : parts->inside)
    for (std::size_t i = 0; i < node.size(); ++i)
      step.send(node[i], node[(i + 1) % node.size()], sent * ((local - 1) / local));
  for (const Members& rail : parts->across)
    for (std::size_t i = 0; i < rail.size(); ++i)
      step.send(rail[i], rail[(i + 1) % rail.size()], sent / local);
}

/// What the cheapest protocol takes beyond the bytes of the step at the links' full bandwidth.
Seconds protocol_latency(const Schedule& ports, const Step& step, const ChunkPath& path,
                         Reached part) {
  const CollectiveLibrarySpec& library = ports.fabric().cluster().collectives;
  PhaseFlow flow;
  step.write_flow(1, flow);
  // NCCL takes the protocol that it reckons fastest; so does the plan.
  std::optional<Seconds> best;
  for (const Protocol& protocol : protocols(library, part)) {
    const auto steps = [&](const Hops& hops) {
      return path.passes * latency(hops, ports.wiring(), library, protocol);
    };
    // W / r of (2): bytes at the part of the bandwidth that the protocol reaches.
    const Seconds bytes = transfer_time(ports.fabric(), flow, protocol.reached);
    const Seconds time = protocol.start + steps(path.first) + bytes * stored(path, protocol) +
                         std::max(bytes, bytes * protocol.slice + steps(path.rest));
    best = best ? std::min(*best, time) : time;
  }
  // Only what is beyond the bytes is latency; a protocol cannot be faster than its links.
  return std::max(Seconds{0}, *best - transfer_time(ports.fabric(), flow));
}

/// Of an all-reduce, as `near`.
double reduced_part(const Fabric& fabric, Group members) {
  return members.size() == 2 ? fabric.cluster().collectives.pair_bandwidth : 1;
}

/// One phase, which takes alone what the cheapest of NCCL's protocols takes.
CollectivePlan plan_chunked(const Fabric& fabric, Group members, NetworkForm form,
                            const Chunked& call) {
  Schedule ports(fabric, members, Bytes{0}, NetworkForm::ports);
  ports.repeats(call.period);
  // Protocols are weighed on ports; as pairs the same latency is taken.
  Step step = ports.step();
  call.load(step);
  const Seconds latency =
      protocol_latency(ports, step, call.path(ports.wiring()), {call.near, call.far});
  if (form == NetworkForm::ports) {
    ports.then_together({{step, 1, latency}});
    return std::move(ports).plan(call.algorithm);
  }
  Schedule pairs(fabric, members, Bytes{0}, form);
  Step messages = pairs.step();
  call.load(messages);
  pairs.then_together({{messages, 1, latency}});
  return std::move(pairs).plan(call.algorithm);
}

/// Parent in NCCL's binary tree over 0..size-1 with root 0: odd numbers are leaves.
std::size_t parent_of(std::size_t node, std::size_t size) {
  // The lowest set bit is the level in the tree.
  const std::size_t bit = node & (~node + 1);
  const std::size_t up = (node ^ bit) | (bit << 1);
  // A parent beyond the end does not exist: the next one below takes its place.
  return up >= size ? node ^ bit : up;
}

/// The other tree, in which leaves and inner nodes change places: mirrored for even sizes, else
/// shifted.
std::size_t other_tree(std::size_t node, std::size_t size) {
  return size % 2 == 0 ? size - 1 - node : (node + 1) % size;
}

/// Both trees and the chains, on every link and up and down; `chain` and
/// `across` get the latencies of their steps.
void load_trees(const Split& parts, Bytes bytes, Step& all, Step& chain, Step& across) {
  const std::size_t nodes = parts.inside.size(), size = parts.across.size();
  const auto local = static_cast<double>(size);
  const auto both_ways = [&](Step& level, DeviceId a, DeviceId b, Bytes each) {
    // Without bytes: only the latency of the level.
    level.send(a, b, Bytes{0});
    all.send(a, b, each);
    all.send(b, a, each);
  };
  // A chain as a closed ring: every member has one neighbour on each side to load.
  for (const Members& node : parts.inside)
    for (std::size_t i = 0; size > 1 && i < size; ++i)
      both_ways(chain, node[i], node[(i + 1) % size], bytes * ((local - 1) / local));
  for (const Members& rail : parts.across)
    for (std::size_t i = 1; i < nodes; ++i) {
      const std::size_t up = parent_of(i, nodes);
      // Two trees with half of the bytes each, and one channel per member of a node.
      both_ways(across, rail[i], rail[up], bytes / (2 * local));
      both_ways(across, rail[other_tree(i, nodes)], rail[other_tree(up, nodes)],
                bytes / (2 * local));
    }
}

/// Up a chain and the levels of a tree; every level as long as the slowest hop between nodes.
ChunkPath tree_path(const Wiring& wiring, const Split& parts) {
  // Up and down.
  ChunkPath path{.passes = 2};
  const Members& node = parts.inside.front();
  for (std::size_t i = 1; i < node.size(); ++i) add_hop(path.first, wiring, node[i - 1], node[i]);
  const Members& rail = parts.across.front();
  const auto part = [&](DeviceId m) {
    return wiring.between(wiring.seat(wiring.seat_of(rail.front())),
                          wiring.seat(wiring.seat_of(m)));
  };
  // The slowest hop between nodes stands for each level.
  const DeviceId farthest = *std::ranges::max_element(rail, {}, [&](DeviceId m) {
    return m == rail.front() ? Seconds{0} : wiring.latency(part(m));
  });
  if (rail.size() > 1)
    add_hop(path.first, wiring, rail.front(), farthest,
            static_cast<double>(std::bit_width(rail.size() - 1)));
  return path;
}

}  // namespace

Plan nccl_ring(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  const auto parts = split(fabric, members, Level::node);
  const auto ranks = static_cast<double>(members.size());
  const bool reduces = call.kind == CollectiveKind::all_reduce;
  const bool whole = call.kind == CollectiveKind::broadcast;
  // An all-reduce goes around twice: reduce-scatter, then all-gather.
  const double passes = reduces ? 2 : 1;
  // A broadcast sends everything over every link, the others (p - 1) / p of it per pass.
  const Bytes sent = call.bytes * (whole ? 1 : passes * (ranks - 1) / ranks);
  const double channels =
      fabric.cluster().collectives.cores.network *
      static_cast<double>(parts && parts->inside.size() > 1 ? parts->across.size() : 1);
  return plan_chunked(
      fabric, members, form,
      {.algorithm = "ring",
       .load = [&](Step& step) { load_ring(step, members, parts, sent); },
       .path =
           [&](const Wiring& wiring) {
             const ChunkPath path = ring_path(fabric, wiring, members, parts, passes);
             if (!whole) return path;
             return broadcast_path(path, channels > 0 ? call.bytes / channels : Bytes{0});
           },
       .period = whole ? 0 : call.period,
       .near = reduces ? reduced_part(fabric, members) : 1,
       .far = reduces || whole ? 1 : ring_part(fabric, members)});
}

/// Two binary trees between the nodes, each with half of the buffer, and a chain in every node; up,
/// then down. As many channels as a node has members, so that every NIC works.
Plan tree(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  const auto parts = split(fabric, members, Level::node);
  if (call.kind != CollectiveKind::all_reduce || !parts) return std::nullopt;
  // HCCL's tree pays each level once per loop; NCCL's chunks follow each other.
  if (fabric.cluster().collectives.library == CollectiveLibrarySpec::Library::hccl) {
    Schedule schedule(fabric, members, call, form);
    Step chain = schedule.step(), across = schedule.step(), all = schedule.step();
    load_trees(*parts, call.bytes, all, chain, across);
    const auto chained = static_cast<double>(parts->across.size() - 1);
    const auto levels = static_cast<double>(std::bit_width(parts->inside.size() - 1));
    schedule.then_together(
        {{all, 1, 2.0 * (chain.latency() * chained + across.latency() * levels)}});
    return std::move(schedule).plan("tree");
  }
  return plan_chunked(fabric, members, form,
                      {.algorithm = "tree",
                       .load =
                           [&](Step& step) {
                             Step ignored = step;
                             load_trees(*parts, call.bytes, step, ignored, ignored);
                           },
                       .path = [&](const Wiring& wiring) { return tree_path(wiring, *parts); },
                       .near = reduced_part(fabric, members)});
}

}  // namespace stepcast::collectives
