#include "sim/network/job_period.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/network/map_numbers.hpp"
#include "sim/network/plain_map.hpp"
#include "sim/replay/random_job.hpp"

namespace stepcast {
namespace {

using namespace testing;

void expect_same(const NetworkMap& map, const NetworkMap& plain) {
  const RankClasses &own = map.classes, &reference = plain.classes;
  RC_ASSERT(own.representative == reference.representative);
  RC_ASSERT(own.stage == reference.stage);
  RC_ASSERT(own.ranks == reference.ranks);
  RC_ASSERT(own.class_of == reference.class_of);
  RC_ASSERT(map.links.size() == plain.links.size());
  for (std::size_t l = 0; l < map.links.size(); ++l)
    RC_ASSERT(map.links[l].name == plain.links[l].name);
  const auto a = numbers_of(map), b = numbers_of(plain);
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT(std::abs(a[i] - b[i]) <= 1e-12 * b[i]);
}

Job job_of_many_replicas() {
  Job job = random_job();
  job.plan.dp = *rc::gen::element(8, 12, 16, 24, 32);
  job.plan.ep = *rc::gen::element(1, 2, 4);
  if (*rc::gen::inRange(0, 8) == 0)
    job.plan.order = {"dp", "tp", "cp", "ep", "pp"};
  else
    job.algorithms = random_algorithms();
  job.cluster.devices = (job.plan.world() + 3) / 4 * 4;
  job.cluster.network.leaf_ports = *rc::gen::element<std::int64_t>(2, 4, 6);
  if (*rc::gen::arbitrary<bool>())
    job.cluster.super_node = SuperNodeSpec{.nodes = *rc::gen::element<std::int64_t>(2, 3),
                                           .fabric = SwitchFabric{{40_GBps, 1_us}, 1}};
  if (*rc::gen::inRange(0, 3) == 0) wire_nodes(job);
  return job;
}

// Every replica is looked at by the reference. Keys tell some ranks apart.
TEST(JobPeriod, MapIsThatOfAllReplicas) {
  int shortened = 0;
  EXPECT_TRUE(rc::check([&] {
    const Job job = job_of_many_replicas();
    const Fabric fabric(job.cluster);
    const Placement placement(job.plan);
    std::vector<std::uint64_t> keys;
    const auto alike = *rc::gen::element(0U, 1U, 8U, 16U);
    for (std::uint32_t r = 0; r < placement.world() && alike > 0; ++r)
      keys.push_back(r / 4 % alike);
    if (*rc::gen::inRange(0, 4) == 0 && !keys.empty()) keys.back() = 99;
    const NetworkMapInput input{.placement = placement,
                                .fabric = fabric,
                                .programs = job.programs,
                                .algorithms = job.algorithms,
                                .rank_keys = keys,
                                .describe_links = true};
    const std::uint32_t copies = shortest_period(input).copies();
    RC_TAG(copies > 1 ? "shortened" : "whole");
    if (copies > 1) ++shortened;
    expect_same(build_network_map(input), build_plain_network_map(input));
  }));
  EXPECT_GT(shortened, 10);
}

TEST(JobPeriod, RanksGoThereAndBack) {
  EXPECT_TRUE(rc::check([] {
    Job job = job_of_many_replicas();
    if (job.plan.order.front() == "dp") job.plan.order = ParallelPlan{}.order;
    const Placement placement(job.plan);
    const std::int64_t most = std::gcd(job.plan.dp, job.plan.edp());
    const JobPeriod period(placement, *rc::gen::element<std::int64_t>(1, most));
    for (std::uint32_t r = 0; r < period.ranks().world(); ++r) {
      const Rank in_job = period.in_job(Rank{r});
      RC_ASSERT(period.own(in_job) == Rank{r});
      const Coordinates own = period.ranks().coordinates(Rank{r});
      const Coordinates whole = placement.coordinates(in_job);
      RC_ASSERT(std::tuple(own.tp, own.cp, own.dp, own.pp, own.ep, own.edp) ==
                std::tuple(whole.tp, whole.cp, whole.dp, whole.pp, whole.ep, whole.edp));
    }
  }));
}

// Eight nodes below each leaf, two stages of 512 nodes: a node of each stage stands for all.
TEST(JobPeriod, OneNodeStandsForAll) {
  Job job;
  job.plan.tp = 4;
  job.plan.pp = 2;
  job.plan.dp = 512;
  job.cluster.devices = 4096;
  job.cluster.node_devices = 4;
  job.cluster.node_fabric = MeshFabric{{20_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {25_GBps, 2_us};
  job.cluster.network.kind = NetworkSpec::Kind::rail_optimized;
  job.cluster.network.leaf_ports = 8;
  job.programs.resize(2);
  for (StageProgram& program : job.programs) program.chunks.resize(1);
  const auto copies = [&] {
    const Fabric fabric(job.cluster);
    const Placement placement(job.plan);
    return shortest_period({placement, fabric, job.programs, job.algorithms}).copies();
  };
  EXPECT_EQ(copies(), 512U);
  job.cluster.network.oversubscription = 2;  // leaves count
  EXPECT_EQ(copies(), 64U);
}

}  // namespace
}  // namespace stepcast
