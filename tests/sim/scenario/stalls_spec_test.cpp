#include <gtest/gtest.h>

#include <cmath>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/network/link_faults.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/topology/placement.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using test::small_scenario;
using test::TemporaryFiles;

Scenario read_small(const std::vector<std::string>& overrides) {
  const TemporaryFiles files;
  return read_scenario(files.write("small.yaml", small_scenario), overrides, {});
}
Scenario with_stalls(const std::string& stalls) { return read_small({"stalls=" + stalls}); }

TEST(StallsSpec, HoldsWhatTheFileSays) {
  const StallsSpec s =
      with_stalls(
          "{compute_jitter: {sigma: 0.01, seed: 7}, slow_devices: [{devices: [3, 5], factor: "
          "1.25}], "
          "slow_hosts: [{nodes: [1], factor: 2}], throttling: [{devices: [2], factor: 3, from: 1s, "
          "until: 2s, period: 1min}, {devices: [4], factor: 2, from: 0s, until: 1s, period: "
          "none}], "
          "degraded_links: [{link: \"nic:1\", bandwidth_factor: 0.5}], failed_links: [{link: "
          "\"leaf:1.up\", ports: 8}], gc_pauses: {duration: 200ms, period: 60s, synchronised: "
          "true, "
          "seed: 2}, allocator_pauses: {duration: 2ms, probability: 0.1, seed: 3}, data_loader: "
          "{time_per_step: 50ms, prefetch: 2}, checkpoint: {every_steps: 500, blocking_time: 30s}, "
          "failures: {device_mtbf: 50000h, restart: 15min}, host_sync: unit}")
          .stalls;
  StallsSpec expected;
  expected.compute_jitter = StallsSpec::Jitter{0.01, 7};
  expected.slow_devices = {{{3, 5}, 1.25}};
  expected.slow_hosts = {{{1}, 2}};
  expected.throttling = {{{2}, 3, Seconds{1}, Seconds{2}, Seconds{60}},
                         {{4}, 2, Seconds{0}, Seconds{1}, Seconds{0}}};
  expected.degraded_links = {{"nic:1", 0.5}};
  expected.failed_links = {{"leaf:1.up", 8}};
  expected.gc_pauses = StallsSpec::GcPauses{Seconds{0.2}, Seconds{60}, true, 2};
  expected.allocator_pauses = StallsSpec::AllocatorPauses{Seconds{0.002}, 0.1, 3};
  expected.data_loader = StallsSpec::DataLoader{Seconds{0.05}, 2};
  expected.checkpoint = StallsSpec::Checkpoint{500, Seconds{30}};
  expected.failures = StallsSpec::Failures{Seconds{50000 * 3600.0}, Seconds{900}};
  expected.host_sync = StallsSpec::HostSyncAt::unit;
  EXPECT_EQ(s, expected);
}

TEST(StallsSpec, HoldsTheSpreadThatTheFileSays) {
  const StallsSpec s =
      with_stalls(
          "{spread: {seed: 9, device: {law: normal, sigma: 0.01, node_correlation: 0.5}, host: "
          "{sigma: 0.02}, node: {slow_share: 0.1, slow_factor: 1.2}, link: {sigma: 0.03}, "
          "transient: {per_device_hour: 0.001, duration: 10min, factor: 1.3}}}")
          .stalls;
  using Law = SpreadSpec::Distribution::Law;
  SpreadSpec expected{.seed = 9};
  expected.device.emplace();
  expected.device->law = Law::normal;
  expected.device->sigma = 0.01;
  expected.device->node_correlation = 0.5;
  expected.host = SpreadSpec::Distribution{Law::log_normal, 0.02, {}, {}};
  expected.node.emplace();
  expected.node->slow_share = 0.1;
  expected.node->slow_factor = 1.2;
  expected.link = SpreadSpec::Distribution{Law::log_normal, 0.03, {}, {}};
  expected.transient = SpreadSpec::Transient{0.001, Seconds{600}, 1.3};
  ASSERT_TRUE(s.spread);
  EXPECT_EQ(*s.spread, expected);
  EXPECT_FALSE(expected.neutral());
  EXPECT_EQ(with_seeds(s, 3).spread->seed, 12);
  EXPECT_EQ(without_draws(s), StallsSpec{});
}

TEST(StallsSpec, PausesDrawWhereTheyTakeTime) {
  EXPECT_TRUE(draws(with_stalls("{gc_pauses: {duration: 200ms, period: 60s}}").stalls));
  EXPECT_FALSE(draws(with_stalls("{gc_pauses: {duration: 0s, period: 60s}}").stalls));
}

// What the file holds counts, not how it is called.
TEST(StallsSpec, ReadsTheNumbersOfAnEmpiricalLaw) {
  const TemporaryFiles files;
  const auto with = [&](const std::string& name, const std::string& numbers) {
    files.write(name, numbers);
    return read_small({"stalls.spread.device={law: empirical, file: " + files.path(name) + "}"});
  };
  const Scenario one = with("a.txt", "# factors\n1.0\n\n1.25\n");
  EXPECT_EQ(one.stalls.spread->device->factors, (std::vector<double>{1, 1.25}));
  EXPECT_NE(one.sha256, with("a.txt", "1.0\n1.5\n").sha256);
  EXPECT_EQ(with("b.txt", "0.001\n1000\n").stalls.spread->device->factors,
            (std::vector<double>{0.001, 1000}));
  EXPECT_THROW(with("c.txt", "1\n1000.5\n"), InputError);
  EXPECT_THROW(with("d.txt", "1\n0.0009\n"), InputError);
}

TEST(StallsSpec, TakesEverySeedOnByTheSame) {
  const StallsSpec s = with_stalls(
                           "{compute_jitter: {sigma: 0.01, seed: 7}, gc_pauses: {duration: 200ms, "
                           "period: 60s, seed: 2}, allocator_pauses: {duration: 2ms, probability: "
                           "0.1, seed: 3}, spread: {seed: 9, device: {sigma: 0.01}}}")
                           .stalls;
  const StallsSpec next = with_seeds(s, 5);
  EXPECT_EQ(next.compute_jitter->seed, 12);
  EXPECT_EQ(next.gc_pauses->seed, 7);
  EXPECT_EQ(next.allocator_pauses->seed, 8);
  EXPECT_EQ(next.spread->seed, 14);
  EXPECT_EQ(with_seeds(next, -5), s);
}

// Events begin as a Poisson process: none begins within the duration with exp(-rate * duration).
TEST(StallsSpec, ATransientEventIsUnderWayWithThePoissonProbability) {
  EXPECT_EQ((SpreadSpec::Transient{0, Seconds{600}, 1.3}.probability()), 0);
  EXPECT_DOUBLE_EQ((SpreadSpec::Transient{2, Seconds{1800}, 1.3}.probability()), 1 - std::exp(-1));
}

TEST(StallsSpec, OfNothingMeansTheSameHoweverItIsWritten) {
  const std::string hash = read_small({}).sha256;
  for (const char* same : {"none", "{}", "{slow_devices: none, gc_pauses: none}",
                           "{slow_devices: [], host_sync: none}"}) {
    EXPECT_EQ(with_stalls(same).stalls, StallsSpec{}) << same;
    EXPECT_EQ(with_stalls(same).sha256, hash) << same;
  }
  const std::string one = with_stalls("{slow_devices: [{devices: [3], factor: 1.25}]}").sha256;
  EXPECT_NE(one, hash);
  EXPECT_NE(with_stalls("{slow_devices: [{devices: [4], factor: 1.25}]}").sha256, one);
  EXPECT_NE(with_stalls("{slow_devices: [{devices: [3], factor: 1.5}]}").sha256, one);
}

TEST(StallsSpec, AnAffinityTakesTheFactorOfTheCluster) {
  const Scenario s = read_small({"cluster.host.affinity={unbound: 1.5}",
                                 "stalls={slow_hosts: [{nodes: [1], affinity: unbound}]}"});
  EXPECT_EQ(s.stalls.slow_hosts[0].affinity, StallsSpec::SlowHosts::Affinity::unbound);
  const StallPlan plan = plan_stalls(s.stalls, Placement(s.workload.plan), s.cluster);
  EXPECT_EQ(plan.speed_of(Rank{7}).host, 1);
  EXPECT_EQ(plan.speed_of(Rank{8}).host, 1.5);
}

// Half of the time follows a clock of 0.8: 0.5 / 0.8 + 0.5.
TEST(StallsSpec, AThermalClassSlowsItsSlotsOfEveryNode) {
  const Scenario s = with_stalls(
      "{thermal_classes: [{slots: [6, 7], clock: 0.8, core_share: 0.5}], "
      "slow_devices: [{devices: [15], factor: 2}]}");
  const StallPlan plan = plan_stalls(s.stalls, Placement(s.workload.plan), s.cluster);
  for (std::uint32_t r = 0; r < 16; ++r)
    EXPECT_DOUBLE_EQ(plan.speed_of(Rank{r}).device, (r % 8 >= 6 ? 1.125 : 1) * (r == 15 ? 2 : 1));
  EXPECT_EQ(plan.speed_of(Rank{6}).host, 1);
}

TEST(StallsSpec, OnlyAnAffinityThatSomeHostHasIsAnAssumption) {
  const std::string affinity =
      "cluster.host.affinity={unbound: {value: 1.5, source: assumed}, cross_numa: {value: 2, "
      "source: "
      "assumed}}";
  const auto assumed = [&](const std::string& stalls) {
    std::vector<std::string> paths;
    for (const Assumption& a : read_small({affinity, "stalls=" + stalls}).assumptions)
      if (a.path.find("affinity") != std::string::npos) paths.push_back(a.path);
    return paths;
  };
  EXPECT_TRUE(assumed("{slow_hosts: [{nodes: [1], factor: 2}]}").empty());
  EXPECT_EQ(assumed("{slow_hosts: [{nodes: [1], affinity: cross_numa}]}"),
            std::vector<std::string>{"cluster.host.affinity.cross_numa"});
}

LinkFaults faults_of(const std::string& stalls) {
  const Scenario s = with_stalls(stalls);
  return link_faults(s.stalls, Fabric(s.cluster));
}

TEST(LinkFaults, OfNamedLinks) {
  const Fabric fabric(read_small({}).cluster);
  const auto id = [&](const char* name) { return fabric.find_link(name)->value; };
  const LinkFaults faults = faults_of(
      "{degraded_links: [{link: \"nic:3\", bandwidth_factor: 0.5}], failed_links: [{link: "
      "\"hccs:8-9\"}, {link: \"nic:5.up\"}]}");
  EXPECT_EQ(faults.bandwidth_factor,
            (std::map<std::uint32_t, double>{{id("nic:3.up"), 0.5}, {id("nic:3.down"), 0.5}}));
  const auto links = [&](std::initializer_list<const char*> names) {
    std::vector<LinkId> all;
    for (const char* name : names) all.push_back({id(name)});
    return all;
  };
  EXPECT_EQ(faults.detour, (std::map<std::uint32_t, std::vector<LinkId>>{
                               {id("hccs:8-9"), links({"hccs:8-10", "hccs:10-9"})},
                               {id("hccs:9-8"), links({"hccs:9-10", "hccs:10-8"})},
                               {id("nic:5.up"), links({"hccs:5-6", "nic:6.up"})}}));
}

TEST(LinkFaults, ALeafLosesPartOfItsUplinks) {
  const Scenario s = read_small({"cluster.network.topology.oversubscription=4",
                                 "stalls={failed_links: [{link: \"leaf:2.up\", ports: 4}]}"});
  const Fabric intact(s.cluster), fabric(s.cluster, link_faults(s.stalls, intact));
  const auto part = [&](const char* name) {
    const LinkId link = *intact.find_link(name);
    return fabric.link(link).bandwidth / intact.link(link).bandwidth;
  };
  EXPECT_DOUBLE_EQ(part("leaf:2.up"), 0.75);  // 12 of 64 / 4
  EXPECT_EQ(part("leaf:2.down"), 1);
  EXPECT_EQ(part("leaf:1.up"), 1);
}

/// Step time, the mean parts of every stage and the number of classes of 64 devices: tensor groups
/// in nodes, gradients and transfers between them.
std::vector<double> times_of(const std::string& stalls, const char* fold) {
  const Scenario s = read_small({"cluster.devices=64", "parallel.pp=2", "parallel.ep=1",
                                 "parallel.tp=4", "model.moe=none", "training.global_batch=64",
                                 "cluster.network.topology={kind: leaf_spine, leaf_ports: 16}",
                                 "stalls=" + stalls, std::string("simulate.fold=") + fold});
  const Forecast f = forecast(s);
  std::vector<double> all{f.step_time.value()};
  for (const StageForecast& stage : f.stages) {
    for (const Seconds part : {stage.times.computing, stage.times.exposed_total(),
                               stage.times.bubble, stage.times.late_host(), stage.times.other_idle})
      all.push_back(part.value());
  }
  all.push_back(static_cast<double>(f.timeline.classes.size()));
  return all;
}

enum class Classes { as_before, more, every_rank };
struct CostlyStall {
  const char* name;
  const char* stalls;
  Classes classes;
};
void PrintTo(const CostlyStall& row, std::ostream* out) { *out << row.name; }

class SomeStalls : public ::testing::TestWithParam<CostlyStall> {};

TEST_P(SomeStalls, CostTimeAndFoldAsEveryRankOnItsOwn) {
  const std::string stalls = GetParam().stalls;
  const auto intact = testing::in_child([] { return times_of("none", "auto"); });
  const auto folded = testing::in_child([&] { return times_of(stalls, "auto"); });
  const auto separate = testing::in_child([&] { return times_of(stalls, "off"); });
  ASSERT_FALSE(intact.empty());
  ASSERT_FALSE(folded.empty());
  ASSERT_EQ(folded.size(), separate.size());
  EXPECT_GT(folded[0], intact[0] * 1.001);
  for (std::size_t i = 0; i + 1 < folded.size(); ++i)
    EXPECT_NEAR(folded[i], separate[i], 1e-9 * folded[0]) << i;
  const double classes = folded.back();
  EXPECT_EQ(separate.back(), 64);
  EXPECT_EQ(classes == intact.back(), GetParam().classes == Classes::as_before);
  EXPECT_EQ(classes == 64, GetParam().classes == Classes::every_rank);
}

const CostlyStall costly_stalls[] = {
    {"jitter", "{compute_jitter: {sigma: 0.1}}", Classes::every_rank},
    {"slow_device", "{slow_devices: [{devices: [17], factor: 1.5}]}", Classes::more},
    {"slow_host", "{slow_hosts: [{nodes: [3], factor: 10}]}", Classes::more},
    {"throttling", "{throttling: [{devices: [40], factor: 2, from: 5ms, until: 15ms}]}",
     Classes::more},
    {"gc_apart", "{gc_pauses: {duration: 2ms, period: 20ms}}", Classes::every_rank},
    {"gc_together", "{gc_pauses: {duration: 2ms, period: 20ms, synchronised: true}}",
     Classes::as_before},
    {"allocator", "{allocator_pauses: {duration: 1ms, probability: 0.2}}", Classes::every_rank},
    {"data_loader", "{data_loader: {time_per_step: 10ms}}", Classes::as_before},
    {"checkpoint", "{checkpoint: {every_steps: 1, blocking_time: 1s}}", Classes::as_before},
    {"host_sync", "{host_sync: unit}", Classes::as_before},
    {"degraded_nic", "{degraded_links: [{link: \"nic:17\", bandwidth_factor: 0.25}]}",
     Classes::more},
    {"failed_nic", "{failed_links: [{link: \"nic:17\"}]}", Classes::more},
    {"failed_pair", "{failed_links: [{link: \"hccs:17-18\"}]}", Classes::more},
    {"degraded_leaf", "{degraded_links: [{link: \"leaf:1\", bandwidth_factor: 0.25}]}",
     Classes::more},
};
INSTANTIATE_TEST_SUITE_P(, SomeStalls, ::testing::ValuesIn(costly_stalls),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace stepcast
