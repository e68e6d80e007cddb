#include <gtest/gtest.h>

#include <algorithm>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_graph.hpp"
#include "temporary_files.hpp"
#include "texts.hpp"

// A graph that is written and read again gives the step that it was written of.
namespace stepcast {
namespace {

using test::has;

/// Step time, then every part of every stage.
std::vector<double> numbers_of(const Scenario& scenario) {
  return testing::in_child([&] {
    const Forecast result = forecast(scenario);
    std::vector<double> numbers{result.step_time.value()};
    for (const StageForecast& stage : result.stages) {
      const RankTimes& t = stage.times;
      numbers.insert(numbers.end(),
                     {t.computing.value(), t.bubble.value(), t.host_stall.value(),
                      t.compile_stall.value(), t.other_idle.value(), t.communication.value()});
      for (const Seconds exposed : t.exposed) numbers.push_back(exposed.value());
    }
    return numbers;
  });
}

/// The cluster of a scenario file alone, with the graph instead of all else.
std::string cluster_of(std::string_view text) {
  const std::size_t begin = text.find("cluster:"), end = text.find("model:");
  return "stepcast: 1\nname: again\n" + std::string(text.substr(begin, end - begin)) +
         "workload: {graph: graph.json}\n";
}

void expect_same(const std::vector<std::string>& overrides, const std::string& label) {
  const test::TemporaryFiles files;
  const Scenario scenario =
      prepare_scenario(files.write("s.yaml", test::small_scenario), overrides, {});
  files.write("graph.json", graph_json(step_graph(scenario)));
  const Scenario again =
      prepare_scenario(files.write("again.yaml", cluster_of(test::small_scenario)), {}, {});
  const std::vector<double> wanted = numbers_of(scenario), found = numbers_of(again);
  ASSERT_FALSE(wanted.empty()) << label;
  ASSERT_EQ(wanted.size(), found.size()) << label;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-9 * wanted[0]) << label << ", number " << i;
}

TEST(GraphRoundTrip, EverySchedule) {
  for (const PipelineSchedule& schedule : pipeline_schedules())
    expect_same({"schedule.pipeline=" + std::string(schedule.name),
                 "parallel.vpp=" + std::to_string(schedule.chunks.low),
                 "schedule.slices=" + std::to_string(std::max<std::int64_t>(
                                          schedule.slices.low, schedule.slices.high > 1 ? 2 : 1))},
                std::string(schedule.name));
}

TEST(GraphRoundTrip, ShardedParametersAndBlockingTransfers) {
  expect_same(
      {"parallel.zero=3", "schedule.p2p=blocking", "schedule.pipeline=1f1b", "parallel.vpp=1"},
      "zero 3");
}

TEST(GraphRoundTrip, GroupsThatShareOut) {
  expect_same(
      {"parallel.dp_replicate=2", "parallel.zero=3", "schedule.pipeline=1f1b", "parallel.vpp=1"},
      "groups");
}

TEST(GraphRoundTrip, PairsOfUnits) {
  expect_same({"moe.overlap=fb_pair", "schedule.warmup=extra(1)"}, "pairs");
}

// Pauses, slow devices and what is drawn are in the file, and are those of the step again.
TEST(GraphRoundTrip, StallsComeAlong) {
  for (const std::string stall :
       {"compute_jitter={sigma: 0.05, seed: 3}", "slow_devices=[{devices: [3], factor: 1.3}]",
        "gc_pauses={duration: 20ms, period: 100ms}", "slow_hosts=[{nodes: [1], factor: 2}]",
        "throttling=[{devices: [1], factor: 1.5, from: 1ms, until: 30ms}]",
        "allocator_pauses={duration: 2ms, probability: 0.1}",
        "degraded_links=[{link: 'nic:1', bandwidth_factor: 0.5}]"})
    expect_same({"stalls." + stall}, stall);
}

TEST(GraphFiles, StallsBesideTheGraphTakeThePlaceOfItsOwn) {
  const test::TemporaryFiles files;
  const Scenario stalled =
      prepare_scenario(files.write("s.yaml", test::small_scenario),
                       {"stalls.slow_devices=[{devices: [3], factor: 2}]"}, {});
  files.write("graph.json", graph_json(step_graph(stalled)));
  const std::string again = cluster_of(test::small_scenario);
  const auto read = [&](const std::string& more) {
    return prepare_scenario(files.write("again.yaml", again + more), {}, {}).stalls;
  };
  EXPECT_EQ(read(""), stalled.stalls);
  EXPECT_EQ(read("stalls: {}\n"), StallsSpec{});
}

TEST(GraphFiles, SameInputSameBytes) {
  const test::TemporaryFiles files;
  const Scenario scenario = prepare_scenario(files.write("s.yaml", test::small_scenario), {}, {});
  EXPECT_EQ(graph_json(step_graph(scenario)), graph_json(step_graph(scenario)));
}

TEST(GraphFiles, WhatNoGraphSaysIsRefused) {
  const test::TemporaryFiles files;
  const Scenario scenario =
      prepare_scenario(files.write("s.yaml", test::small_scenario),
                       {"moe.routing={distribution: zipf}", "simulate.steps=2"}, {});
  try {
    (void)step_graph(scenario);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("moe.routing: loads ranks"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("simulate.steps: are several"), std::string::npos);
  }
}

std::string complaint(const std::string& graph, const std::string& more = {}) {
  const test::TemporaryFiles files;
  files.write("graph.json", graph);
  try {
    (void)prepare_scenario(files.write("again.yaml", cluster_of(test::small_scenario) + more), {},
                           {});
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(GraphFiles, DamageIsRefusedWithItsPlace) {
  const test::TemporaryFiles files;
  const Scenario scenario = prepare_scenario(files.write("s.yaml", test::small_scenario), {}, {});
  const std::string sound = graph_json(step_graph(scenario));
  EXPECT_EQ(complaint(sound), "");
  EXPECT_TRUE(has(complaint(sound.substr(0, sound.size() / 2)), "graph.json:"));
  EXPECT_TRUE(has(complaint(replaced(sound, "\"tp\":2", "\"tp\":0")), "plan.tp: is 0, allowed"));
  EXPECT_TRUE(has(complaint(replaced(sound, "\"tp\":2", "\"tp\":4")), "the graph has 32 ranks"));
  EXPECT_TRUE(has(complaint(replaced(sound, "[\"wait\",", "[\"wait\",90")), "is 90"));
  EXPECT_TRUE(has(complaint(replaced(sound, "\"kind\":\"all_gather\"", "\"kind\":\"all\"")),
                  "kind: is 'all', allowed: all_reduce"));
  EXPECT_TRUE(has(complaint(replaced(sound, "[\"F\",0,0,0,false],", "")), "stages: "));
  EXPECT_TRUE(has(complaint(sound, "parallel: {tp: 2}\n"), "parallel: is said by the graph"));
}

TEST(GraphFiles, ADrawingHasBoundedTasks) {
  const test::TemporaryFiles files;
  const Scenario scenario = prepare_scenario(files.write("s.yaml", test::small_scenario),
                                             {"training.global_batch=8"}, {});
  const TaskGraph graph = step_graph(scenario);
  const std::string dot = graph_dot(graph, {Rank{0}});
  EXPECT_TRUE(has(dot, "subgraph cluster_0"));
  EXPECT_TRUE(has(dot, "\"F0.0#0 "));
  EXPECT_TRUE(has(dot, " -> "));
  std::vector<Rank> all;
  for (std::uint32_t r = 0; r < 16; ++r) all.push_back(Rank{r});
  const Scenario large = prepare_scenario(files.write("s.yaml", test::small_scenario), {}, {});
  EXPECT_THROW((void)graph_dot(step_graph(large), all), InputError);
}

TEST(GraphTasks, EverySendFindsItsReceive) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    const test::TemporaryFiles files;
    const Scenario scenario =
        prepare_scenario(files.write("s.yaml", test::small_scenario),
                         {"schedule.pipeline=" + std::string(schedule.name),
                          "parallel.vpp=" + std::to_string(schedule.chunks.low),
                          "schedule.slices=" + std::to_string(schedule.slices.low)},
                         {});
    const TaskGraph graph = step_graph(scenario);
    std::vector<std::array<double, 4>> sends, receives;
    for (std::uint32_t r = 0; r < graph.plan.world(); ++r)
      for (const TaskNode& task : rank_tasks(graph, Rank{r})) {
        if (task.kind == TaskNode::Kind::send)
          sends.push_back({double(r), double(task.peer), double(task.tag), task.bytes});
        if (task.kind == TaskNode::Kind::receive)
          receives.push_back({double(task.peer), double(r), double(task.tag), task.bytes});
      }
    std::ranges::sort(sends);
    std::ranges::sort(receives);
    EXPECT_FALSE(sends.empty()) << schedule.name;
    EXPECT_EQ(sends, receives) << schedule.name;
  }
}

}  // namespace
}  // namespace stepcast
