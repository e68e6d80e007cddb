#include <algorithm>

#include "algorithms.hpp"

namespace stepcast {
namespace {

bool near(const Fabric& fabric, DeviceId from, DeviceId to) {
  return fabric.locality(from, to) <= Locality::super_node;
}

/// How much of a message of so many bytes is too large for the cache, 0 to 1. Between a cache that
/// held everything and one that held nothing no size was measured, so that a third more is assumed.
double beyond_cache(Bytes bytes, Bytes cache) {
  if (cache.value() <= 0) return 1;
  return std::clamp(3 * (bytes / cache - 1), 0.0, 1.0);
}

/// What the bytes take beyond the links' full bandwidth.
Seconds slowdown(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes) {
  const TransferSpec& transfer = fabric.cluster().collectives.transfer;
  // Between nodes the NIC is the limit, whatever the cache holds.
  if (!near(fabric, from, to)) return Seconds{0};
  Seconds slowest{0};
  for (const LinkId link : fabric.route(from, to))
    slowest = std::max(slowest, bytes / fabric.link(link).bandwidth);
  return slowest * (beyond_cache(bytes, transfer.cache) * (1 / transfer.bandwidth - 1));
}

}  // namespace

Seconds transfer_latency(const Fabric& fabric, DeviceId from, DeviceId to, Bytes bytes) {
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  // Route, start of the transfer, the library's step, and what bytes take beyond full bandwidth.
  return fabric.route_latency(from, to) + library.transfer.start +
         (near(fabric, from, to) ? library.transfer_step() : library.step_latency) +
         slowdown(fabric, from, to, bytes);
}

namespace collectives {

/// One message over its route; both libraries stream it through their buffers.
Plan direct(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  if (call.kind != CollectiveKind::send_recv || members.size() != 2) return std::nullopt;
  // Streamed: its start does not repeat with the buffer.
  Schedule schedule(fabric, members, Bytes{0}, form);
  Step step = schedule.step();
  step.send(members[0], members[1], call.bytes);
  schedule.then_together({{step, 1, transfer_latency(fabric, members[0], members[1], call.bytes)}});
  return std::move(schedule).plan("direct");
}

}  // namespace collectives
}  // namespace stepcast
