#include "stepcast/sim/network/kept_network_map.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/network/solitary.hpp"

namespace stepcast {
namespace {

/// Appends values so that no two lists of them give one text.
class KeyWriter {
 public:
  void text(const std::string& value) {
    number(value.size());
    key_ += value;
  }
  template <class Value>
  void number(Value value) {
    static_assert(std::is_arithmetic_v<Value> || std::is_enum_v<Value>);
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Value>
  void numbers(const std::vector<Value>& values) {
    number(values.size());
    for (const Value& value : values) number(value);
  }
  void bytes(Bytes value) { number(value.value()); }
  std::string take() { return std::move(key_); }

 private:
  std::string key_;
};

/// Of devices and hosts the fabric knows nothing but what it costs to start a collective.
void write_cluster(ClusterSpec cluster, KeyWriter& key) {
  key.number(cluster.device.launch.communication.value());
  key.number(cluster.collectives.selection_latency_given);
  cluster.device = {};
  cluster.host = {};
  cluster.name.clear();
  cluster.interval.reset();
  key.text(canonical_text([&](Visitor& visitor) { describe(visitor, cluster); }));
}

/// The keys of the plan, and what the scenario reader has resolved beside them.
void write_plan(ParallelPlan plan, KeyWriter& key) {
  for (const std::int64_t number : {plan.dp, plan.expert_part, plan.slices}) key.number(number);
  key.number(plan.chunk_placement);
  key.text(canonical_text([&](Visitor& visitor) { describe(visitor, plan); }));
}

void write_call(const StageCall& call, KeyWriter& key) {
  key.number(call.group);
  key.number(call.call.kind);
  key.bytes(call.call.bytes);
  key.numbers(call.call.skew.factor);
  key.number(call.call.skew.senders);
  key.number(call.stream);
  key.text(call.algorithm);
  key.number(call.host_link.value());
  key.number(call.in_kernel);
}

void write_program(const StageProgram& program, KeyWriter& key) {
  key.number(program.calls.size());
  for (const StageCall& call : program.calls) write_call(call, key);
  key.number(program.slices);
  key.number(program.chunks.size());
  for (const ChunkProgram& chunk : program.chunks) {
    key.bytes(chunk.send_forward);
    key.bytes(chunk.send_backward);
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

}  // namespace

std::string network_key(const NetworkMapInput& input) {
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
  if (kept() && kept()->key == network_key(input)) return kept()->map;
  return build_network_map(input);
}

}  // namespace stepcast
