#include <algorithm>

#include "program_builder.hpp"

// Transfers between a device and its host, or the drives behind it: docs/models/offload.md.
namespace stepcast {

BytesPerSecond ProgramBuilder::copy_bandwidth() const { return cluster_.host.offload_bandwidth(); }

void ProgramBuilder::to_host(Bytes bytes, std::uint32_t slot, Instructions& out) {
  over_host_link("offload", Stream::to_host, bytes, copy_bandwidth(), slot, out);
}

void ProgramBuilder::from_host(Bytes bytes, std::uint32_t slot, Instructions& out) {
  over_host_link("fetch", Stream::from_host, bytes, copy_bandwidth(), slot, out);
}

namespace {

/// A way is as fast as its narrowest part, as what passes the host's memory does not wait there.
BytesPerSecond through(BytesPerSecond link, BytesPerSecond drives, const WorkloadSpec& spec) {
  const bool stored = spec.training.offload_store == TrainingSpec::OffloadStore::storage;
  return stored ? std::min(link, drives) : link;
}

}  // namespace

void ProgramBuilder::to_store(Bytes bytes, std::uint32_t slot, Instructions& out) {
  const HostSpec& host = cluster_.host;
  over_host_link("offload", Stream::to_host, bytes,
                 through(copy_bandwidth(), host.storage_write_bandwidth(), spec_), slot, out);
}

void ProgramBuilder::from_store(Bytes bytes, std::uint32_t slot, Instructions& out) {
  const HostSpec& host = cluster_.host;
  over_host_link("fetch", Stream::from_host, bytes,
                 through(copy_bandwidth(), host.storage_read_bandwidth(), spec_), slot, out);
}

void ProgramBuilder::over_host_link(const char* name, Stream stream, Bytes bytes,
                                    BytesPerSecond bandwidth, std::uint32_t slot,
                                    Instructions& out) {
  const Seconds time = cluster_.host.device_link_latency + bytes / bandwidth;
  // Equal transfers are one call.
  const auto known = std::ranges::find_if(program_.calls, [&](const StageCall& c) {
    return c.over_host_link() && c.stream == stream && c.call.bytes == bytes && c.host_link == time;
  });
  const auto index = static_cast<std::uint32_t>(known - program_.calls.begin());
  // Group and collective are placeholders: `host_link` says how long the transfer takes.
  if (known == program_.calls.end())
    program_.calls.push_back(
        {.name = name,
         .group = GroupKind::tensor,
         .call = {CollectiveKind::all_gather, bytes},
         .stream = stream,
         .kind = ExposedKind::offload,
         .issue = issue_cost(LaunchClass::communication, spec_.runtime, cluster_),
         .host_link = time});
  out.push_back(Communicate{index, slot, true});
}

}  // namespace stepcast
