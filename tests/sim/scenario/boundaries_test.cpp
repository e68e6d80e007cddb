#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/scenario/inputs.hpp"
#include "temporary_files.hpp"

// The last value that is allowed, and the first that is not: a check that is stricter or laxer by
// one step refuses what works, or lets through what does not.
namespace stepcast {
namespace {

using namespace test;

struct Boundary {
  const char* name;
  std::vector<std::string> beside;  ///< overrides of both
  const char* key;
  const char* last;
  const char* beyond;
  const char* blamed = nullptr;  ///< the key of the message; nothing: the same
};
void PrintTo(const Boundary& row, std::ostream* out) { *out << row.name; }

class Boundaries : public ::testing::TestWithParam<Boundary> {};

TEST_P(Boundaries, AreAllowedThemselves) {
  const Boundary& row = GetParam();
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", small_scenario);
  const auto said = [&](const char* value) {
    std::vector<std::string> overrides = row.beside;
    overrides.push_back(std::string(row.key) + "=" + value);
    return errors_of(files, path, overrides);
  };
  EXPECT_EQ(said(row.last), "no error");
  const std::string blamed = row.blamed ? row.blamed : row.key;
  EXPECT_THAT(said(row.beyond), testing::HasSubstr(": " + blamed + ": "));
}

const std::vector<std::string> host_link{"cluster.host.device_link.bandwidth=64GB/s"};
const std::vector<std::string> offloaded{"cluster.host.device_link.bandwidth=64GB/s",
                                         "training.offload.experts=true"};
const std::vector<std::string> latent{
    "model.attention={kind: mla, heads: 16, kv_lora_rank: 128, nope_dim: 64, rope_dim: 32, "
    "v_dim: 64}"};

const std::vector<std::string> sparse{
    "model.attention={kind: mla, heads: 16, q_lora_rank: 64, kv_lora_rank: 128, nope_dim: 64, "
    "rope_dim: 32, v_dim: 64, index_heads: 4, index_top_k: 512}"};
const std::string linear_layers =
    "model.linear_attention={key_heads: 8, value_heads: 16, key_dim: 64, value_dim: 64}";
const std::string few_states =
    "model.linear_attention={key_heads: 2, value_heads: 16, key_dim: 64, value_dim: 64}";

const Boundary boundaries[] = {
    // ---- the model
    {"dense_layers", {}, "model.moe.first_dense", "7", "8"},
    {"groups", {"model.moe.top_k=1"}, "model.moe.groups", "8", "3"},
    {"top_groups", {"model.moe.groups=4"}, "model.moe.top_groups", "4", "5"},
    {"experts_of_a_token",
     {"model.moe.groups=4", "model.moe.top_groups=2"},
     "model.moe.top_k",
     "4",
     "5"},
    {"all_experts", {}, "model.moe.top_k", "8", "9"},
    {"width_of_shared_experts",
     {"model.moe.shared_experts=1"},
     "model.moe.shared_hidden",
     "2",
     "0"},
    {"windows", {"model.attention.window=256"}, "model.attention.full_every", "2", "1"},
    {"states",
     {linear_layers, "parallel.sequence_parallel=false", "parallel.ep=1", "parallel.tp=1"},
     "model.linear_attention.full_every",
     "2",
     "1"},
    {"values_of_keys", {linear_layers}, "model.linear_attention.value_heads", "24", "20"},
    {"heads_of_states", {few_states}, "parallel.tp", "2", "4"},
    {"slices_of_states", {linear_layers}, "schedule.slices", "1", "2"},
    {"indexer", sparse, "parallel.cp", "1", "2"},
    {"latents_of_queries", sparse, "model.attention.q_lora_rank", "64", "0"},
    {"width_of_an_indexer", sparse, "model.attention.index_dim", "32", "31"},
    {"kernel_of_an_indexer", sparse, "training.attention", "fused", "unfused"},
    {"heads_of_an_indexer", latent, "model.attention.index_top_k", "2048", "512"},
    {"positions", {"model.position=learned(2048)"}, "training.sequence", "2048", "2050"},
    {"padded_heads", latent, "training.attention_head", "96", "95"},
    // ---- the cluster
    {"reserve", {}, "cluster.device.memory.reserve", "63GiB", "64GiB"},
    {"interval",
     {},
     "cluster.interval",
     "{low: 1.2, high: 1.2}",
     "{low: 1.2, high: 1.1}",
     "cluster.interval.high"},
    {"devices_behind_a_host_link", host_link, "cluster.host.device_link.shared",
     "{bandwidth: 64GB/s, devices: 8}", "{bandwidth: 64GB/s, devices: 9}",
     "cluster.host.device_link.shared.devices"},
    {"power_at_work",
     {},
     "cluster.device.power",
     "{idle: 9, computing: 9, communicating: 9}",
     "{idle: 9, computing: 8, communicating: 9}",
     "cluster.device.power.idle"},
    {"power_that_waits",
     {},
     "cluster.device.power",
     "{idle: 9, computing: 99, communicating: 9}",
     "{idle: 9, computing: 99, communicating: 8}",
     "cluster.device.power.idle"},
    {"idle_clock",
     {},
     "cluster.device.idle_clock",
     "{speed: 0.99, hold: 0s, ramp: 1us}",
     "{speed: 0.99, hold: 0s, ramp: 0s}"},
    {"idle_clock_of_full_speed",
     {},
     "cluster.device.idle_clock",
     "{speed: 0.99, hold: 0s, ramp: 1us}",
     "{speed: 1, hold: 0s, ramp: 1us}"},
    {"power_cap_that_holds_something",
     {"cluster.device.power_cap={window: 1ms, attention: 0.9, other: 0.5}"},
     "cluster.device.efficiency.matmul.sustained",
     "0.999",
     "1",
     "cluster.device.power_cap"},
    {"power_cap_of_a_clock_given_once",
     {"cluster.device.efficiency.matmul.sustained=0.5",
      "cluster.device.power_cap={window: 1ms, attention: 0.9, other: 0.5}"},
     "cluster.device.step_clock",
     "1",
     "0.99",
     "cluster.device.power_cap"},
    {"power_cap_that_saves_something",
     {"cluster.device.efficiency.matmul.sustained=0.5"},
     "cluster.device.power_cap",
     "{window: 1ns, attention: 1, other: 0}",
     "{window: 0s, attention: 1, other: 0}",
     "cluster.device.power_cap.window"},
    {"pods",
     {"cluster.network.topology={kind: leaf_spine, leaf_ports: 8, oversubscription: 1}"},
     "cluster.network.topology.pod_oversubscription",
     "1",
     "2"},
    {"pods_of_one_leaf",
     {"cluster.network.topology={kind: leaf_spine, leaf_ports: 8, oversubscription: 1}",
      "cluster.network.topology.pod_oversubscription=2"},
     "cluster.network.topology.pod_leaves",
     "1",
     "0",
     "cluster.network.topology.pod_oversubscription"},
    // ---- the plan and the schedule
    {"active_experts", offloaded, "training.offload.active_experts", "0.5", "0.49"},
    {"sharding_beside_offloaded_experts", offloaded, "parallel.zero", "2", "3",
     "training.offload.experts"},
    {"ulysses_ranks",
     {"parallel.cp=4", "cluster.devices=64", "parallel.ep=1"},
     "parallel.context_algorithm",
     "hybrid(4)",
     "hybrid(3)"},
    {"micro_batches", {}, "training.global_batch", "4000000", "4000008"},
    {"units",
     {"model.layers=22", "training.global_batch=4000000"},
     "parallel.vpp",
     "10",
     "11",
     "training.global_batch"},
    {"steps", {}, "simulate.steps", "100000", "100001"},
    {"documents",
     {"schedule.data.documents={distribution: fixed, length: 1}"},
     "training.sequence",
     "524288",
     "524290",
     "schedule.data.documents"},
    // 2^25 tokens, as if all documents were as short as the median, mean x e^(-1/2)
    {"documents_of_a_lognormal_law",
     {"training.sequence=1048576"},
     "schedule.data.documents",
     "{distribution: lognormal, mean: 3.3, sigma: 1}",
     "{distribution: lognormal, mean: 3.29, sigma: 1}"},
    {"experts_on_streams", {"moe.experts=multi_stream"}, "parallel.ep", "4", "8", "moe.experts"},
    {"shared_experts_that_run_again",
     {"training.recompute={modules: [shared_experts]}", "model.moe.shared_hidden=512"},
     "model.moe.shared_experts",
     "1",
     "0",
     "training.recompute"},
    {"shared_experts_in_a_graph",
     {"runtime.graphs={scopes: [shared_experts]}", "model.moe.shared_hidden=512"},
     "model.moe.shared_experts",
     "1",
     "0",
     "runtime.graphs"},
    {"shared_experts_beside_an_exchange",
     {"moe.overlap=shared_expert", "model.moe.shared_hidden=512"},
     "model.moe.shared_experts",
     "1",
     "0",
     "moe.overlap"},
    // ---- stalls
    {"throttling_behind_another",
     {},
     "stalls.throttling",
     "[{devices: [1], factor: 2, from: 3s, until: 5s}, {devices: [1], factor: 3, from: 5s, until: "
     "6s}]",
     "[{devices: [1], factor: 2, from: 3s, until: 5s}, {devices: [1], factor: 3, from: 4.9s, "
     "until: 6s}]",
     "stalls.throttling.1.devices"},
    {"throttling_before_another",
     {},
     "stalls.throttling",
     "[{devices: [1], factor: 2, from: 5s, until: 6s}, {devices: [1], factor: 3, from: 3s, until: "
     "5s}]",
     "[{devices: [1], factor: 2, from: 5s, until: 6s}, {devices: [1], factor: 3, from: 3s, until: "
     "5.1s}]",
     "stalls.throttling.1.devices"},
    {"garbage",
     {},
     "stalls.gc_pauses",
     "{duration: 0.9s, period: 1s}",
     "{duration: 1s, period: 1s}",
     "stalls.gc_pauses.duration"},
    {"uplinks",
     {},
     "stalls.failed_links",
     "[{link: \"leaf:1.up\", ports: 63}]",
     "[{link: \"leaf:1.up\", ports: 64}]",
     "stalls.failed_links.0.ports"},
    {"degraded_link",
     {},
     "stalls.degraded_links",
     "[{link: \"nic:1\", bandwidth_factor: 1e-6}]",
     "[{link: \"nic:1\", bandwidth_factor: 9e-7}]",
     "stalls.degraded_links.0.bandwidth_factor"},
    {"fast_device",
     {},
     "stalls.slow_devices",
     "[{devices: [15], factor: 0.001}]",
     "[{devices: [15], factor: 0.0009}]",
     "stalls.slow_devices.0.factor"},
    {"slow_device",
     {},
     "stalls.slow_devices",
     "[{devices: [15], factor: 1000}]",
     "[{devices: [15], factor: 1001}]",
     "stalls.slow_devices.0.factor"},
    {"last_node",
     {},
     "stalls.slow_hosts",
     "[{nodes: [1], factor: 2}]",
     "[{nodes: [2], factor: 2}]",
     "stalls.slow_hosts.0.nodes"},
    {"jitter",
     {},
     "stalls.compute_jitter",
     "{sigma: 3}",
     "{sigma: 3.1}",
     "stalls.compute_jitter.sigma"},
    {"seed",
     {},
     "stalls.compute_jitter",
     "{sigma: 1, seed: 9007199254740992}",
     "{sigma: 1, seed: 9007199254740994}",
     "stalls.compute_jitter.seed"},
    {"seed_of_a_spread",
     {},
     "stalls.spread",
     "{seed: 9007199254740992, device: {sigma: 0.01}}",
     "{seed: 9007199254740994, device: {sigma: 0.01}}",
     "stalls.spread.seed"},
    {"allocations",
     {},
     "stalls.allocator_pauses",
     "{duration: 1000000s, probability: 1}",
     "{duration: 1000000s, probability: 1.1}",
     "stalls.allocator_pauses.probability"},
    {"pause",
     {},
     "stalls.allocator_pauses",
     "{duration: 1000000s, probability: 0}",
     "{duration: 1000001s, probability: 0}",
     "stalls.allocator_pauses.duration"},
    {"shortest_period",
     {},
     "stalls.gc_pauses",
     "{duration: 0s, period: 1us}",
     "{duration: 0s, period: 0.9us}",
     "stalls.gc_pauses.period"},
    {"longest_period",
     {},
     "stalls.gc_pauses",
     "{duration: 0s, period: 1000000s}",
     "{duration: 0s, period: 1000001s}",
     "stalls.gc_pauses.period"},
    {"batches_ahead",
     {},
     "stalls.data_loader",
     "{time_per_step: 1s, prefetch: 1000000}",
     "{time_per_step: 1s, prefetch: 1000001}",
     "stalls.data_loader.prefetch"},
    {"checkpoints",
     {},
     "stalls.checkpoint",
     "{every_steps: 1000000000, blocking_time: 1s}",
     "{every_steps: 1000000001, blocking_time: 1s}",
     "stalls.checkpoint.every_steps"},
    {"often_failing_device",
     {},
     "stalls.failures",
     "{device_mtbf: 1s, restart: 0s}",
     "{device_mtbf: 0.9s, restart: 0s}",
     "stalls.failures.device_mtbf"},
    {"spread_of_devices",
     {},
     "stalls.spread",
     "{device: {sigma: 0.5}}",
     "{device: {sigma: 0.51}}",
     "stalls.spread.device.sigma"},
    {"normal_spread",
     {},
     "stalls.spread",
     "{device: {law: normal, sigma: 0.1}}",
     "{device: {law: normal, sigma: 0.11}}",
     "stalls.spread.device.sigma"},
    {"slow_nodes",
     {},
     "stalls.spread",
     "{node: {slow_share: 1, slow_factor: 1000}}",
     "{node: {slow_share: 1, slow_factor: 1001}}",
     "stalls.spread.node.slow_factor"},
    {"nodes_that_are_not_slow",
     {},
     "stalls.spread",
     "{node: {slow_share: 1, slow_factor: 1}}",
     "{node: {slow_share: 1, slow_factor: 0.9}}",
     "stalls.spread.node.slow_factor"},
};

INSTANTIATE_TEST_SUITE_P(Scenario, Boundaries, ::testing::ValuesIn(boundaries),
                         [](const auto& row) { return std::string(row.param.name); });

/// What is said of a file with that one number.
std::string said_of_file(const char* number, const std::string& head) {
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", small_scenario);
  return errors_of(files, path, {head + files.write("n.csv", std::string(number) + "\n") + "}"});
}

TEST(BoundariesOfFiles, AreAllowedThemselves) {
  const std::string lengths = "schedule.data.documents={distribution: file, file: ";
  EXPECT_THAT(said_of_file("1", lengths), testing::Not(testing::HasSubstr("is '1'")));
  EXPECT_EQ(said_of_file("4", lengths), "no error");
  EXPECT_EQ(said_of_file("1073741824", lengths), "no error");
  EXPECT_THAT(said_of_file("1073741825", lengths), testing::HasSubstr("is '1073741825'"));
  EXPECT_THAT(said_of_file("0", lengths), testing::HasSubstr("is '0'"));
  const std::string factors = "stalls.spread.device={law: empirical, file: ";
  EXPECT_EQ(said_of_file("0.001", factors), "no error");
  EXPECT_EQ(said_of_file("1000", factors), "no error");
  EXPECT_THAT(said_of_file("0.0009", factors), testing::HasSubstr("is '0.0009'"));
  EXPECT_THAT(said_of_file("1001", factors), testing::HasSubstr("is '1001'"));
}

// The parts that a dispatch in two hops cuts groups into: nodes of 8, or super-nodes of two of
// them.
TEST(Settled, PartsOfExpertGroupsAreNodesOrSuperNodes) {
  const TemporaryFiles files;
  const std::string path = files.write("s.yaml", small_scenario);
  const auto part = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides{"moe.dispatch=two_hop_dedup", "cluster.devices=32",
                                       "parallel.tp=1", "parallel.sequence_parallel=false"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return prepare_scenario(path, overrides, {}).workload.plan.expert_part;
  };
  const std::string super_node =
      "cluster.super_node={nodes: 2, fabric: {kind: switch, port: {bandwidth: 90GB/s}}}";
  EXPECT_EQ(part({}), 8);
  EXPECT_EQ(part({super_node}), 16);
  EXPECT_EQ(part({super_node, "moe.inner=node"}), 8);
  EXPECT_EQ(prepare_scenario(path, {}, {}).workload.plan.expert_part, 0);
}

// Values of up to 200 characters are told as they are.
TEST(Inputs, LongValuesAreTheirLengthAndHash) {
  Scenario scenario;
  scenario.content = "a.b=1\nlong=" + std::string(200, 'x') + "\nlonger=" + std::string(201, 'x');
  const std::vector<Input> inputs = inputs_of(scenario);
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].path, "a.b");
  EXPECT_EQ(inputs[0].value, "1");
  EXPECT_EQ(inputs[1].value, std::string(200, 'x'));
  EXPECT_THAT(inputs[2].value, testing::MatchesRegex("201 characters, sha256 [0-9a-f]{16}"));
}

}  // namespace
}  // namespace stepcast
