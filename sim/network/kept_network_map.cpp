#include "stepcast/sim/network/kept_network_map.hpp"

#include <optional>
#include <utility>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/key_writer.hpp"
#include "stepcast/sim/network/solitary.hpp"

namespace stepcast {
namespace {

/// Of devices and hosts the fabric knows nothing but what it costs to start a collective, the cores
/// that it holds a part of, and the PCIe tree.
void write_cluster(ClusterSpec cluster, KeyWriter& key) {
  // Plans read these, and the canonical text below does not have them.
  key.number(cluster.device.launch.communication.value());
  key.number(cluster.device.cube_cores);
  key.number(cluster.collectives.selection_latency_given);
  // The file of a platform may be another one by the next request.
  const std::optional<PlatformSpec>& platform = cluster.network.platform;
  key.text(platform && platform->text ? *platform->text : std::string{});
  // A search changes devices and hosts a lot, and the map must still be found again.
  cluster.device = {};
  HostSpec host;
  host.pcie = cluster.host.pcie;
  if (host.pcie.known()) host.device_link_bandwidth = cluster.host.device_link_bandwidth;
  cluster.host = host;
  // Names and money change nothing on the links.
  cluster.name.clear();
  cluster.interval.reset();
  cluster.costs.reset();
  key.text(canonical_text([&](Visitor& visitor) { describe(visitor, cluster); }));
}

/// The keys of the plan, and what the scenario reader has resolved beside them.
void write_plan(ParallelPlan plan, KeyWriter& key) {
  // Values that the reader resolves are no keys, and `auto` alone would hide them.
  for (const std::int64_t number : {plan.dp, plan.expert_part, plan.slices}) key.number(number);
  key.number(plan.chunk_placement);
  key.text(canonical_text([&](Visitor& visitor) { describe(visitor, plan); }));
}

// Everything of a call that a plan or a flow depends on; its name is not.
void write_call(const StageCall& call, KeyWriter& key) {
  key.number(call.group);
  key.number(call.call.kind);
  key.number(call.call.bytes.value());
  key.numbers(call.call.skew.factor);
  key.number(call.call.skew.senders);
  key.number(call.stream);
  key.text(call.algorithm);
  key.number(call.host_link.value());
  key.number(call.in_kernel);
  key.number(call.kernel);
}

void write_program(const StageProgram& program, KeyWriter& key) {
  // Of a program only what the map is made of: calls, slices and the bytes between stages. Two
  // programs with other segments share a map.
  key.number(program.calls.size());
  for (const StageCall& call : program.calls) write_call(call, key);
  key.number(program.slices);
  key.number(program.chunks.size());
  for (const ChunkProgram& chunk : program.chunks) {
    key.number(chunk.send_forward.value());
    key.number(chunk.send_backward.value());
  }
}

struct Kept {
  std::string key;
  NetworkMap map;
};

std::optional<Kept>& kept() {
  static std::optional<Kept> one;
  return one;
}

/// Whether this process remembers its last map.
bool& remembers() {
  static bool does = false;
  return does;
}
/// A map of more calls takes too much room in a process that stays.
constexpr std::size_t most_calls = 1 << 12;

/// That map.
std::optional<Kept>& last() {
  static std::optional<Kept> one;
  return one;
}

}  // namespace

std::string network_key(const NetworkMapInput& input) {
  // Whatever NetworkMapInput holds stands here, or two different maps would share a key.
  KeyWriter key;
  write_cluster(input.fabric.cluster(), key);
  write_plan(input.placement.plan(), key);
  key.number(world_runs_alone(input.programs));
  key.number(input.programs.size());
  for (const StageProgram& program : input.programs) write_program(program, key);
  for (const std::string& algorithm : input.algorithms.algorithm) key.text(algorithm);
  key.number(input.fold);
  key.numbers(input.rank_keys);
  key.number(input.form);
  key.numbers(input.rank_variants);
  key.number(input.describe_links);
  key.number(input.hash_seed.has_value());
  key.number(input.hash_seed.value_or(0));
  return key.take();
}

KeptNetworkMap::KeptNetworkMap(const NetworkMapInput& input, NetworkMap map) {
  expects(!kept(), "one network map is kept at a time");
  kept() = Kept{network_key(input), std::move(map)};
}

KeptNetworkMap::~KeptNetworkMap() { kept().reset(); }

NetworkMap known_network_map(const NetworkMapInput& input) {
  // An equal key means an equal map; any other input is built anew.
  if (kept() && kept()->key == network_key(input)) return kept()->map;
  if (!remembers()) return build_network_map(input);
  std::string key = network_key(input);
  if (last() && last()->key == key) return last()->map;
  NetworkMap map = build_network_map(input);
  if (map.calls.size() <= most_calls) last() = Kept{std::move(key), map};
  return map;
}

void remember_network_map() { remembers() = true; }

}  // namespace stepcast
