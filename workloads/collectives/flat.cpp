#include <functional>

#include "algorithms.hpp"

namespace stepcast::collectives {
namespace {

Plan flat(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form,
          Pattern pattern, std::string name) {
  // An all-to-all streams through the buffer: its measured start cost does not grow with the bytes.
  const bool exchange = call.kind == CollectiveKind::all_to_all;
  Schedule schedule(fabric, members, exchange ? Bytes{0} : call.bytes, form);
  const Sets sets{Members(members.begin(), members.end())};
  // A broadcast has a root, and unequal messages differ by member: no period then.
  if (call.kind != CollectiveKind::broadcast && call.skew.factor.empty() &&
      treats_all_alike(pattern, members.size()))
    schedule.repeats(call.period);
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
    case CollectiveKind::send_recv:
      return std::nullopt;
    case CollectiveKind::all_to_all:
      // Equal messages alone can be handed on around a ring.
      if (pattern == Pattern::ring && call.skew.factor.empty()) {
        // In step k of p - 1 everybody hands on what is for p - k others: p/2 parts each time.
        ring_pass(schedule, sets, call.bytes * (static_cast<double>(members.size()) / 2));
        break;
      }
      if (pattern != Pattern::mesh) return std::nullopt;
      if (!call.skew.factor.empty())
        full_mesh(schedule, sets, message_sizes(members, call));
      else
        full_mesh(schedule, sets, call.bytes / static_cast<double>(members.size()));
      break;
  }
  return std::move(schedule).plan(std::move(name));
}

/// What the bytes take longer where the links reach a part of their bandwidth.
Seconds slowdown(const Fabric& fabric, const CollectivePlan& ports, Reached reached) {
  // The difference goes into latency, so that loads on links stay those of the bytes.
  Seconds sum{0};
  for (const Phase& phase : ports.phases)
    for (const PhaseFlow& flow : phase.flows)
      sum += transfer_time(fabric, flow, reached) - transfer_time(fabric, flow);
  return sum;
}

/// An all-to-all of which `buffered` bytes pass through the library's buffer. `send` puts all pairs
/// on the links, given what each of them carries.
template <typename Send>
CollectivePlan all_pairs(const Fabric& fabric, Group members, const CollectiveCall& call,
                         NetworkForm form, const char* name, Bytes buffered, const Send& send) {
  Schedule schedule(fabric, members, buffered, form);
  if (call.skew.factor.empty()) schedule.repeats(call.period);
  const Sets sets{Members(members.begin(), members.end())};
  if (!call.skew.factor.empty())
    send(schedule, sets, message_sizes(members, call));
  else
    send(schedule, sets, call.bytes / static_cast<double>(members.size()));
  return std::move(schedule).plan(name);
}

/// The plan in that form, longer by `start` and by what the bytes take where links reach a part of
/// their bandwidth: what is on the links stays.
CollectivePlan slowed(const Fabric& fabric,
                      const std::function<CollectivePlan(NetworkForm)>& in_form, NetworkForm form,
                      Reached reached, Seconds start) {
  CollectivePlan plan = in_form(form);
  // As pairs the same time is added: it was measured on the call as a whole.
  const CollectivePlan& ports = form == NetworkForm::ports ? plan : in_form(NetworkForm::ports);
  const Seconds more = start + slowdown(fabric, ports, reached);
  // One phase: its flows all end that much later.
  for (PhaseFlow& flow : plan.phases.front().flows) flow.latency += more;
  return plan;
}

}  // namespace

Plan ring(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  if (call.kind == CollectiveKind::send_recv) return std::nullopt;
  // No library has a ring of exchanges; ASTRA-sim has.
  if (call.kind == CollectiveKind::all_to_all)
    return flat(fabric, members, call, form, Pattern::ring, "ring");
  if (fabric.cluster().collectives.library == CollectiveLibrarySpec::Library::nccl)
    return nccl_ring(fabric, members, call, form);
  return flat(fabric, members, call, form, Pattern::ring, "ring");
}

Plan mesh(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  // Pairs have links or ports of one domain only; between NICs a mesh is no algorithm of a library.
  if (reach(fabric, members) > Locality::super_node) return std::nullopt;
  return flat(fabric, members, call, form, Pattern::mesh, "mesh");
}

Plan one_shot(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  if (call.kind != CollectiveKind::all_reduce || reach(fabric, members) > Locality::super_node)
    return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  schedule.repeats(call.period);
  full_mesh(schedule, {Members(members.begin(), members.end())}, call.bytes);
  return std::move(schedule).plan("one_shot");
}

Plan nhr(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::nhr, "nhr");
}

Plan nb(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::nhr, "nb");
}

Plan hd(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  return flat(fabric, members, call, form, Pattern::hd, "hd");
}

Plan pairwise(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  if (call.kind != CollectiveKind::all_to_all) return std::nullopt;
  const auto in_form = [&](NetworkForm wanted) {
    return all_pairs(
        fabric, members, call, wanted, "pairwise", call.bytes,
        [](Schedule& s, const Sets& sets, const auto& bytes) { pairwise(s, sets, bytes); });
  };
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  // HCCL's steps were measured with what they reach; NCCL's messages pay a start and reach a part.
  if (library.library == CollectiveLibrarySpec::Library::hccl) return in_form(form);
  return slowed(fabric, in_form, form, {library.node_bandwidth, 1}, library.transfer.start);
}

Plan one_sided(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  // One-sided kernels write to all others at once, and only all-to-alls are done so
  // (docs/models/collectives.md).
  if (call.kind != CollectiveKind::all_to_all) return std::nullopt;
  const auto in_form = [&](NetworkForm wanted) {
    return all_pairs(
        fabric, members, call, wanted, "one_sided", Bytes{0},
        [](Schedule& s, const Sets& sets, const auto& bytes) { all_at_once(s, sets, bytes); });
  };
  const OneSidedSpec& reached = fabric.cluster().collectives.one_sided;
  return slowed(fabric, in_form, form, {reached.node_bandwidth, reached.bandwidth}, Seconds{0});
}

}  // namespace stepcast::collectives
