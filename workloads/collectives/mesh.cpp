#include "patterns.hpp"

namespace stepcast::collectives {
namespace {

/// Pairs of the set have links of their own, so that steps of a pairwise exchange cannot be summed
/// up.
bool has_pair_links(const Fabric& fabric, const Members& members) {
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (fabric.node_of(members[0]) != fabric.node_of(members[i])) return false;
  }
  return fabric.mesh_size() > 0;
}

}  // namespace

void full_mesh(Schedule& schedule, const Sets& sets, Bytes per_pair) {
  // Messages of one member are posted in a row: each costs a step where they leave by one port.
  Step step = schedule.step();
  for (const Members& members : sets) step.send_at_once(members, per_pair);
  schedule.then(step);
}

void all_at_once(Schedule& schedule, const Sets& sets, Bytes per_pair) {
  // Written by kernels, so that no library step comes between them.
  Step all = schedule.step();
  for (const Members& members : sets) all.send_all_pairs(members, per_pair);
  schedule.then_together({{all, 1}});
}

void all_at_once(Schedule& schedule, const Sets& sets, const MessageSize& bytes) {
  Step all = schedule.step();
  for (const Members& members : sets)
    for (const DeviceId a : members)
      for (const DeviceId b : members)
        if (a != b) all.send(a, b, bytes(a, b));
  schedule.then_together({{all, 1}});
}

void scatter(Schedule& schedule, const Sets& sets, Bytes bytes) {
  Step step = schedule.step();
  // The first member is the root and keeps its own part.
  for (const Members& members : sets)
    for (std::size_t i = 1; i < members.size(); ++i)
      step.send(members[0], members[i], bytes / static_cast<double>(members.size()));
  schedule.then(step);
}

void pairwise(Schedule& schedule, const Sets& sets, Bytes per_pair) {
  const std::size_t size = sets.front().size();
  // Steps load the same links: one flow with the latency of all of them.
  if (!has_pair_links(schedule.fabric(), sets.front())) {
    Step all = schedule.step();
    for (const Members& members : sets) all.send_all_pairs(members, per_pair);
    schedule.then_together({{all, 1, all.latency() * static_cast<double>(size - 1)}});
    return;
  }
  Step step = schedule.step();
  // On links of their own each step has its own bottleneck.
  for (std::size_t k = 1; k < size; ++k) {
    step.clear();
    for (const Members& members : sets)
      for (std::size_t i = 0; i < size; ++i)
        step.send(members[i], members[(i + k) % size], per_pair);
    schedule.then(step);
  }
}

void full_mesh(Schedule& schedule, const Sets& sets, const MessageSize& bytes) {
  Step step = schedule.step();
  for (const Members& members : sets) {
    step.send_at_once(members, Bytes{0});  // its latency
    for (const DeviceId a : members)
      for (const DeviceId b : members) step.send(a, b, bytes(a, b));
  }
  schedule.then(step);
}

void pairwise(Schedule& schedule, const Sets& sets, const MessageSize& bytes) {
  const std::size_t size = sets.front().size();
  const auto send = [&](Step& step, std::size_t k) {
    for (const Members& members : sets)
      for (std::size_t i = 0; i < size; ++i) {
        const DeviceId to = members[(i + k) % size];
        step.send(members[i], to, bytes(members[i], to));
      }
  };
  // As for equal sizes above: rounds that load the same ports become one step with the latency of
  // each.
  if (!has_pair_links(schedule.fabric(), sets.front())) {
    Step all = schedule.step();
    for (std::size_t k = 1; k < size; ++k) send(all, k);
    schedule.then_together({{all, 1, all.latency() * static_cast<double>(size - 1)}});
    return;
  }
  Step step = schedule.step();
  for (std::size_t k = 1; k < size; ++k) {
    step.clear();
    send(step, k);
    schedule.then(step);
  }
}

}  // namespace stepcast::collectives
