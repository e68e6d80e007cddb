#include "algorithms.hpp"

namespace stepcast::collectives {

/// A ring between the nodes and a mesh inside them at the same time: while the next part arrives
/// from the node before, the last one is handed to the neighbours.
Plan pipeline(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  if (call.kind == CollectiveKind::all_to_all) return level_exchange(fabric, members, call, form);
  const bool passes = call.kind == CollectiveKind::all_reduce ||
                      call.kind == CollectiveKind::reduce_scatter ||
                      call.kind == CollectiveKind::all_gather;
  if (!passes) return std::nullopt;
  const auto parts = split(fabric, members, Level::node);
  // One node, or one member each, leaves nothing to do at the same time.
  if (!parts || parts->inside.size() < 2 || parts->across.size() < 2) return std::nullopt;
  const std::size_t nodes = parts->inside.size();
  const Bytes part = call.bytes / static_cast<double>(members.size());
  // A reduce-scatter keeps three parts at a time in the buffer, the others one.
  const bool scatters = call.kind == CollectiveKind::reduce_scatter;
  Schedule schedule(fabric, members, part * (scatters ? 3 : 1), form);
  schedule.repeats(call.period);
  // `at_once` is both in one step, for where they share the ports.
  Step between = schedule.step(), inside = schedule.step(), at_once = schedule.step();
  for (const Members& rail : parts->across)
    for (std::size_t i = 0; i < nodes; ++i) {
      between.send(rail[i], rail[(i + 1) % nodes], part);
      at_once.send(rail[i], rail[(i + 1) % nodes], part);
    }
  for (const Members& node : parts->inside) {
    inside.send_at_once(node, part);
    at_once.send_at_once(node, part);
  }
  const auto steps = static_cast<double>(nodes - 1);
  // Where both cross the ports, their bytes add up.
  const std::vector<Repeated> both = fabric.super_behind_ports()
                                         ? std::vector<Repeated>{{at_once, steps}}
                                         : std::vector<Repeated>{{between, steps}, {inside, steps}};
  const bool reduces = call.kind != CollectiveKind::all_gather;
  const bool gathers = !scatters;
  // What is inside comes first of a reduction and last of a gather.
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
