#include "algorithms.hpp"

namespace stepcast::collectives {

/// A ring between the nodes and a mesh inside them at the same time: while the next part arrives
/// from the node before, the last one is handed to the neighbours.
Plan pipeline(const Fabric& fabric, Group members, CollectiveCall call) {
  if (call.kind == CollectiveKind::all_to_all || call.kind == CollectiveKind::broadcast)
    return std::nullopt;
  const auto parts = split(fabric, members, Level::node);
  if (!parts || parts->inside.size() < 2 || parts->across.size() < 2) return std::nullopt;
  const std::size_t nodes = parts->inside.size();
  const Bytes part = call.bytes / static_cast<double>(members.size());
  Schedule schedule(fabric, members, call);
  Step between = schedule.step(), inside = schedule.step();
  for (const Members& rail : parts->across)
    for (std::size_t i = 0; i < nodes; ++i) between.send(rail[i], rail[(i + 1) % nodes], part);
  for (const Members& node : parts->inside) inside.send_all_pairs(node, part);
  const auto steps = static_cast<double>(nodes - 1);
  const std::vector<PhaseFlow> both{between.flow(steps), inside.flow(steps)};
  const bool reduces = call.kind != CollectiveKind::all_gather;
  const bool gathers = call.kind != CollectiveKind::reduce_scatter;
  if (reduces) {
    schedule.then(inside);
    schedule.then_together(both);
  }
  if (gathers) {
    schedule.then_together(both);
    schedule.then(inside);
  }
  return std::move(schedule).plan("pipeline");
}

}  // namespace stepcast::collectives
