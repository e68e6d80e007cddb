#include <algorithm>

#include "algorithms.hpp"

/// Two slices of a call, one inside nodes while the other goes between them, then the other way
/// round. docs/models/collectives.md, "By level".
namespace stepcast::collectives {
namespace {

/// Part of the bytes that begins a reduce-scatter inside the nodes: what HCCL takes where
/// HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO is not set.
constexpr double inside_first = 0.5;

/// A mesh inside the nodes beside a pass of NHR between them; bytes are those of one set. The mesh
/// goes on as NHR does, step by step by their bytes, and posts its messages once.
void side_by_side(Schedule& schedule, const Split& parts, Bytes inside, Bytes across,
                  Direction direction) {
  const std::size_t size = parts.inside.size(), steps = nhr_steps(size);
  // Bytes decide how far the mesh is: it keeps pace with NHR's steps.
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t k = direction == Direction::halving ? i : steps - 1 - i;
    const double done = static_cast<double>(nhr_parts(size, k)) / static_cast<double>(size - 1);
    Step mesh = schedule.step(), nhr = schedule.step();
    for (const Members& node : parts.inside)
      mesh.send_at_once(node, inside * (done / static_cast<double>(node.size())));
    nhr_step(nhr, parts.across, across, k);
    // Mesh messages are posted once, in the first step.
    schedule.then_together({{mesh, 1, i == 0 ? mesh.latency() : Seconds{0}}, {nhr, 1}});
  }
}

/// Whether every node's part is one mesh, so that inside and between take different links.
bool are_meshes(const Fabric& fabric, const Sets& nodes) {
  if (are_mesh_lines(fabric, nodes)) return true;
  return std::ranges::all_of(nodes, [&](const Members& m) { return in_one_mesh(fabric, m); });
}

}  // namespace

Plan parallel(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  const bool reduces =
      call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::reduce_scatter;
  const bool gathers =
      call.kind == CollectiveKind::all_reduce || call.kind == CollectiveKind::all_gather;
  if (!reduces && !gathers) return std::nullopt;
  const auto parts = split(fabric, members, Level::node);
  if (!parts || parts->inside.size() < 2 || parts->across.size() < 2) return std::nullopt;
  // Otherwise inside and between would meet on the same ports.
  if (!are_meshes(fabric, parts->inside)) return std::nullopt;
  const auto nodes = static_cast<double>(parts->inside.size());
  const auto local = static_cast<double>(parts->across.size());
  const Bytes first = call.bytes * inside_first, second = call.bytes * (1 - inside_first);
  Schedule schedule(fabric, members, call, form);
  schedule.repeats(call.period);
  // The first slice goes inside and the second between; then what is left of each, exchanged.
  if (reduces) {
    side_by_side(schedule, *parts, first, second, Direction::halving);
    side_by_side(schedule, *parts, second / nodes, first / local, Direction::halving);
  }
  if (gathers) {
    side_by_side(schedule, *parts, second / nodes, first / local, Direction::doubling);
    side_by_side(schedule, *parts, first, second, Direction::doubling);
  }
  return std::move(schedule).plan("parallel");
}

}  // namespace stepcast::collectives
