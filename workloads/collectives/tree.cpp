#include <algorithm>
#include <bit>

#include "algorithms.hpp"
#include "nccl.hpp"

namespace stepcast::collectives {
namespace {

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
