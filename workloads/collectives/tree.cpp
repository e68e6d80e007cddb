#include <bit>

#include "algorithms.hpp"

namespace stepcast::collectives {
namespace {

/// Parent in NCCL's binary tree over 0..size-1 with root 0: odd numbers are leaves.
std::size_t parent_of(std::size_t node, std::size_t size) {
  const std::size_t bit = node & (~node + 1);
  const std::size_t up = (node ^ bit) | (bit << 1);
  return up >= size ? node ^ bit : up;
}

/// The other tree, in which leaves and inner nodes change places: mirrored for even sizes, else
/// shifted.
std::size_t other_tree(std::size_t node, std::size_t size) {
  return size % 2 == 0 ? size - 1 - node : (node + 1) % size;
}

}  // namespace

/// Two binary trees between the nodes, each with half of the buffer, and a chain in every node; up,
/// then down. As many channels as a node has members, so that every NIC works.
Plan tree(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  const auto parts = split(fabric, members, Level::node);
  if (call.kind != CollectiveKind::all_reduce || !parts) return std::nullopt;
  const std::size_t nodes = parts->inside.size();
  const std::size_t size = parts->across.size();
  const auto local = static_cast<double>(size);
  Schedule schedule(fabric, members, call, form);
  Step chain = schedule.step(), across = schedule.step(), all = schedule.step();
  const auto both_ways = [&](Step& level, DeviceId a, DeviceId b, Bytes bytes) {
    level.send(a, b, Bytes{0});
    all.send(a, b, bytes);
    all.send(b, a, bytes);
  };
  for (const Members& node : parts->inside)
    for (std::size_t i = 0; size > 1 && i < size; ++i)
      both_ways(chain, node[i], node[(i + 1) % size], call.bytes * ((local - 1) / local));
  for (const Members& rail : parts->across)
    for (std::size_t i = 1; i < nodes; ++i) {
      const std::size_t up = parent_of(i, nodes);
      both_ways(across, rail[i], rail[up], call.bytes / (2 * local));
      both_ways(across, rail[other_tree(i, nodes)], rail[other_tree(up, nodes)],
                call.bytes / (2 * local));
    }
  const Seconds latency = 2.0 * (chain.latency() * (local - 1) +
                                 across.latency() * static_cast<double>(std::bit_width(nodes - 1)));
  schedule.then_together({{all, 1, latency}});
  return std::move(schedule).plan("tree");
}

}  // namespace stepcast::collectives
