#include "algorithms.hpp"

namespace stepcast::collectives {
namespace {

/// NCCL drives as many rings as a node has members, so that every NIC carries one; each crosses
/// between NICs of one index.
Plan rail_rings(const Fabric& fabric, Group members, const Split& parts, CollectiveCall call,
                NetworkForm form) {
  const std::size_t size = parts.inside.front().size();
  const std::size_t nodes = parts.inside.size();
  const auto local = static_cast<double>(size);
  const auto ranks = static_cast<double>(size * nodes);
  const double passes = call.kind == CollectiveKind::all_reduce ? 2 : 1;
  const bool whole = call.kind == CollectiveKind::broadcast;
  const Bytes sent = call.bytes * (whole ? 1 : passes * (ranks - 1) / ranks);
  Schedule schedule(fabric, members, call, form);
  Step inside = schedule.step(), all = schedule.step();
  for (const Members& node : parts.inside)
    for (std::size_t i = 0; i < size; ++i) {
      inside.send(node[i], node[(i + 1) % size], Bytes{0});
      all.send(node[i], node[(i + 1) % size], sent * ((local - 1) / local));
    }
  for (const Members& rail : parts.across)
    for (std::size_t i = 0; i < nodes; ++i) all.send(rail[i], rail[(i + 1) % nodes], sent / local);
  const auto crossings = static_cast<double>(nodes - 1);
  schedule.then_together(
      {{all, 1,
        passes * (all.latency() * crossings + inside.latency() * (ranks - 1 - crossings))}});
  return std::move(schedule).plan("ring");
}

Plan flat(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form,
          Pattern pattern, std::string name) {
  // An all-to-all streams through the buffer: its measured start cost does not grow with the bytes.
  const bool exchange = call.kind == CollectiveKind::all_to_all;
  Schedule schedule(fabric, members, exchange ? Bytes{0} : call.bytes, form);
  const Sets sets{Members(members.begin(), members.end())};
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      all_reduce(schedule, sets, call.bytes, pattern);
      break;
    case CollectiveKind::reduce_scatter:
      reduce_scatter(schedule, sets, call.bytes, pattern);
      break;
    case CollectiveKind::all_gather:
      all_gather(schedule, sets, call.bytes, pattern);
      break;
    case CollectiveKind::broadcast:
      broadcast(schedule, sets, call.bytes, pattern);
      break;
    case CollectiveKind::all_to_all:
      if (pattern != Pattern::mesh) return std::nullopt;
      if (!call.skew.factor.empty())
        full_mesh(schedule, sets, message_sizes(members, call));
      else
        full_mesh(schedule, sets, call.bytes / static_cast<double>(members.size()));
      break;
  }
  return std::move(schedule).plan(std::move(name));
}

}  // namespace

Plan ring(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  if (call.kind == CollectiveKind::all_to_all) return std::nullopt;
  if (fabric.cluster().collectives.library == CollectiveLibrarySpec::Library::nccl) {
    const auto parts = split(fabric, members, Level::node);
    if (parts && parts->inside.size() > 1 && parts->across.size() > 1)
      return rail_rings(fabric, members, *parts, call, form);
  }
  return flat(fabric, members, call, form, Pattern::ring, "ring");
}

Plan mesh(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  if (reach(fabric, members) > Locality::super_node) return std::nullopt;
  return flat(fabric, members, call, form, Pattern::mesh, "mesh");
}

Plan one_shot(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  if (call.kind != CollectiveKind::all_reduce || reach(fabric, members) > Locality::super_node)
    return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  full_mesh(schedule, {Members(members.begin(), members.end())}, call.bytes);
  return std::move(schedule).plan("one_shot");
}

Plan nhr(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::nhr, "nhr");
}

Plan nb(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::nhr, "nb");
}

Plan hd(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::hd, "hd");
}

Plan pairwise(const Fabric& fabric, Group members, CollectiveCall call, NetworkForm form) {
  if (call.kind != CollectiveKind::all_to_all) return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  const Sets sets{Members(members.begin(), members.end())};
  if (!call.skew.factor.empty())
    pairwise(schedule, sets, message_sizes(members, call));
  else
    pairwise(schedule, sets, call.bytes / static_cast<double>(members.size()));
  return std::move(schedule).plan("pairwise");
}

}  // namespace stepcast::collectives
