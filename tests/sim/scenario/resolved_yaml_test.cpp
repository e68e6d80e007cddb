#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "sim/small_scenario.hpp"
#include "stepcast/sim/scenario/resolved_scenario.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::TemporaryFiles;

/// What is written reads back as the same scenario; the text of it.
std::string round_trip(const Scenario& scenario, const std::string& what) {
  const TemporaryFiles files;
  const std::string text = resolved_yaml(scenario);
  const Scenario again =
      read_scenario(files.write("resolved.yaml", text), {}, default_search_path({}));
  EXPECT_EQ(again.content, scenario.content) << what;
  EXPECT_EQ(again.sha256, scenario.sha256) << what;
  return text;
}

std::string resolved(const std::vector<std::string>& overrides) {
  const TemporaryFiles files;
  const std::string path = files.write("small.yaml", test::small_scenario);
  return round_trip(read_scenario(path, overrides, {}), overrides.empty() ? "" : overrides[0]);
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << " in\n" << text;
}

TEST(ResolvedYaml, OfEveryShippedScenarioReadsBack) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(STEPCAST_SOURCE_DIR) / "scenarios";
  for (const char* folder : {"", "what-if", "regression"})
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".yaml")
        round_trip(read_scenario(entry.path().string(), {}, default_search_path({})),
                   entry.path().string());
}

TEST(ResolvedYaml, KeepsTheFrameworkAndLeavesOutANameThatIsNotThere) {
  const TemporaryFiles files;
  const std::string path = files.write("small.yaml", test::small_scenario);
  const std::string text = round_trip(
      read_scenario(path, {"framework=megatron-core-0.16"}, default_search_path({})), "framed");
  expect_lines(text, {"framework: {extends: megatron-core-0.16, recipe: default}"});
  EXPECT_EQ(text.find("name: \n"), std::string::npos) << text;
}

TEST(ResolvedYaml, WritesTheOneOfTwoKeysThatIsSet) {
  const std::string hosts =
      resolved({"cluster.host.affinity={unbound: 1.5}",
                "stalls={slow_hosts: [{nodes: [0], affinity: unbound}, {nodes: [1], factor: 2}]}"});
  EXPECT_NE(hosts.find("affinity: unbound"), std::string::npos) << hosts;
  EXPECT_NE(hosts.find("factor: 2"), std::string::npos) << hosts;
}

// Heads of 64 + 32, as wide as the kernel or narrower.
TEST(ResolvedYaml, WritesPaddedHeads) {
  const std::string latent =
      "model.attention={kind: mla, heads: 16, kv_lora_rank: 128, nope_dim: 64, rope_dim: 32, "
      "v_dim: 64}";
  for (const char* head : {"96", "128"})
    expect_lines(resolved({latent, std::string("training.attention_head=") + head}),
                 {std::string("  attention_head: ") + head});
}

TEST(ResolvedYaml, WritesEveryFormOfValue) {
  expect_lines(resolved({}), {"name: small", "  device:", "    matmul_peak: 3e+14FLOPS",
                              "      capacity: 68719476736B", "  order: [tp, cp, ep, dp, pp]",
                              "  sequence_parallel: true", "  slices: 1", "stalls: none"});
  expect_lines(resolved({"parallel.layers_per_chunk=[[2, 1], [3, 2]]",
                         "training.recompute=[[1, 0], [3, 2]]"}),
               {"  layers_per_chunk: [[2, 1], [3, 2]]", "  recompute: [[1, 0], [3, 2]]"});
  expect_lines(resolved({"training.recompute={modules: [moe_act, mlp]}",
                         "model.attention.window=512", "model.attention.full_every=4"}),
               {"  recompute: {modules: [mlp, moe_act]}", "    window: 512", "    full_every: 4"});
  expect_lines(resolved({"model.linear_attention={kind: lightning, heads: 8, head_dim: 64, chunk: "
                         "256, full_every: 8}",
                         "parallel.sequence_parallel=false", "parallel.ep=1", "parallel.tp=1"}),
               {"  linear_attention:", "    kind: lightning", "    heads: 8", "    head_dim: 64",
                "    chunk: 256", "    full_every: 8"});
  expect_lines(
      resolved({"moe.overlap=chunks(4)", "moe.capacity_factor=1.5",
                "communication.gradient.bucket=40M", "cluster.collectives.selection_latency=7us"}),
      {"  overlap: chunks(4)", "  capacity_factor: 1.5", "    bucket: 40000000",
       "    selection_latency: 7e-06s"});
  expect_lines(resolved({"stalls.slow_devices=[{devices: [3, 5], factor: 1.25}]"}),
               {"  slow_devices:", "    - devices: [3, 5]", "      factor: 1.25"});
}

TEST(ResolvedYaml, WritesSlicesAsTheyWereGiven) {
  const std::vector<std::string> cut{"schedule.pipeline=seqvpp", "parallel.ep=1"};
  const auto with = [&](const std::string& slices) {
    std::vector<std::string> all{"schedule.slices=" + slices};
    all.insert(all.end(), cut.begin(), cut.end());
    return resolved(all);
  };
  expect_lines(with("2"), {"  slices: 2"});
  expect_lines(with("[1024, 1024]"), {"  slices: [1024, 1024]"});
  expect_lines(with("balanced(2)"), {"  slices: balanced(2)"});
}

TEST(Expectations, AreReadInTheirOwnUnits) {
  const TemporaryFiles files;
  const std::string path = files.write("small.yaml", test::small_scenario);
  const Scenario s = read_scenario(
      path,
      {"expect={step_time: {value: 2s, tolerance: 50ms}, mfu: {value: 0.4, tolerance: 0.02}, "
       "peak_memory: {value: 30GiB, tolerance: 3%, counts: device}, bubble_ratio: {value: 0.1}, "
       "exposed: {tensor: {value: 3ms}}, breakdown: {computing: 1s, tensor: 2ms, bubble: 3ms, "
       "other_idle: 4ms}, source: own}"},
      {});
  const ExpectSpec& expect = *s.expect;
  EXPECT_EQ(expect.step_time->value, 2);
  EXPECT_EQ(expect.step_time->tolerance, 0.05);
  EXPECT_FALSE(expect.step_time->relative);
  EXPECT_EQ(expect.mfu->value, 0.4);
  EXPECT_EQ(expect.mfu->tolerance, 0.02);
  EXPECT_EQ(expect.peak_memory->value, 30.0 * 0x1p30);
  EXPECT_EQ(expect.peak_memory->tolerance, 0.03);
  EXPECT_TRUE(expect.peak_memory->relative);
  EXPECT_EQ(expect.memory_count, MemoryCount::device);
  EXPECT_EQ(expect.bubble_ratio->value, 0.1);
  EXPECT_EQ(expect.bubble_ratio->tolerance, 0.01);
  EXPECT_EQ(expect.exposed[static_cast<std::size_t>(ExposedKind::tensor)]->value, 3e-3);
  const std::vector<std::string>& names = breakdown_names();
  ASSERT_EQ(expect.breakdown.size(), names.size());
  for (const auto& [name, time] : {std::pair{"computing", 1.0},
                                   {"tensor", 2e-3},
                                   {"bubble", 3e-3},
                                   {"other_idle", 4e-3},
                                   {"host_stall", 0.0}}) {
    const auto at = std::ranges::find(names, name) - names.begin();
    EXPECT_EQ(expect.breakdown.at(static_cast<std::size_t>(at)), time) << name;
  }
}

}  // namespace
}  // namespace stepcast
