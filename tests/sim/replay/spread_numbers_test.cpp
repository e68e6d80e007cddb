#include <gtest/gtest.h>

#include <cmath>

#include "stepcast/base/random.hpp"
#include "stepcast/sim/replay/spread.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

// A seed means the same factors in every version: each part has the first numbers of its own
// stream. And what the worst replica is replayed with, in numbers worked out by hand.
namespace stepcast {
namespace {

using Law = SpreadSpec::Distribution::Law;

SpreadSpec seeded() {
  SpreadSpec spec;
  spec.seed = 11;
  return spec;
}

template <class Part>
void normal(Part& part, double sigma) {
  part.law = Law::normal;
  part.sigma = sigma;
}

TEST(SpreadNumbers, OfNodesHostsAndLinksAreTheirOwn) {
  SpreadSpec spec = seeded();
  normal(spec.node.emplace(), 0.1);
  normal(spec.host.emplace(), 0.2);
  normal(spec.link.emplace(), 0.05);
  const auto factors = spread_factors(spec, 12, 4);
  ASSERT_EQ(factors.size(), 12U);
  for (std::uint32_t d = 0; d < 12; ++d) {
    EXPECT_EQ(factors[d].device, 1 + 0.1 * normal_number(11, d / 4, spread_node_stream, 0)) << d;
    EXPECT_EQ(factors[d].host, 1 + 0.2 * normal_number(11, d / 4, spread_host_stream, 0)) << d;
  }
  const auto links = spread_bandwidths(spec, 3);
  for (std::uint32_t l = 0; l < 3; ++l)
    EXPECT_EQ(links.at(l), 1 / (1 + 0.05 * normal_number(11, l, spread_link_stream, 0))) << l;
}

TEST(SpreadNumbers, OfALogNormalLawHaveItsMedianBelowOne) {
  SpreadSpec spec = seeded();
  spec.device.emplace().sigma = 0.2;
  const auto factors = spread_factors(spec, 4, 4);
  for (std::uint32_t d = 0; d < 4; ++d)
    EXPECT_NEAR(std::log(factors[d].device),
                0.2 * normal_number(11, d, spread_device_stream, 0) - 0.02, 1e-12)
        << d;
}

// 0.6 and 0.8: of the variance the node has 0.36.
TEST(SpreadNumbers, OfCorrelatedDevicesJoinTwoDeviations) {
  SpreadSpec spec = seeded();
  normal(spec.device.emplace(), 0.1);
  spec.device->node_correlation = 0.36;
  const auto factors = spread_factors(spec, 8, 4);
  for (std::uint32_t d = 0; d < 8; ++d) {
    const double own = normal_number(11, d, spread_device_stream, 0);
    const double common = normal_number(11, d / 4, spread_shared_stream, 0);
    EXPECT_NEAR(factors[d].device, 1 + 0.1 * (0.6 * common + 0.8 * own), 1e-12) << d;
  }
}

TEST(SpreadNumbers, OfAFileAreItsNumbersByUniformDraw) {
  SpreadSpec spec = seeded();
  spec.device.emplace();
  spec.device->law = Law::empirical;
  spec.device->factors = {0.9, 1, 1.1, 1.2};
  const auto alone = spread_factors(spec, 64, 4);
  spec.device->node_correlation = 0.25;
  const auto shared = spread_factors(spec, 64, 4);
  const auto number = [&](std::uint32_t which, std::uint32_t stream) {
    return spec.device->factors[static_cast<std::size_t>(4 * uniform_number(11, which, stream, 0))];
  };
  for (std::uint32_t d = 0; d < 64; ++d) {
    const double own = number(d, spread_device_stream);
    EXPECT_EQ(alone[d].device, own) << d;
    const bool by_node = uniform_number(11, d, spread_shared_stream, 1) < 0.5;
    EXPECT_EQ(shared[d].device, by_node ? number(d / 4, spread_shared_stream) : own) << d;
  }
}

TEST(SpreadNumbers, SlowNodesAndEventsAreThoseBelowTheirShare) {
  SpreadSpec spec = seeded();
  spec.node.emplace();
  spec.node->slow_share = 0.4;
  spec.node->slow_factor = 1.5;
  spec.transient = SpreadSpec::Transient{36, Seconds{100}, 3};  // 1 - 1/e
  const auto factors = spread_factors(spec, 64, 4);
  for (std::uint32_t d = 0; d < 64; ++d) {
    const double slow = uniform_number(11, d / 4, spread_slow_stream, 0) < 0.4 ? 1.5 : 1;
    const bool event = uniform_number(11, d, spread_event_stream, 0) < 1 - std::exp(-1);
    EXPECT_EQ(factors[d].host, slow) << d;
    EXPECT_EQ(factors[d].device, slow * (event ? 3 : 1)) << d;
  }
}

// ---- the worst replica
/// Forward and backward of 2 s, issued in 0.25 s, with a call that takes the host half a second,
/// and 3 s at the end.
StageProgram stage_of(double seconds) {
  StageProgram program;
  for (const double device : {seconds, 3.0})
    program.segments.emplace_back(std::vector<OperatorCost>{{.main = 0.25, .device = device}});
  program.calls.push_back({"call",
                           GroupKind::tensor,
                           {CollectiveKind::all_reduce, Bytes{1}},
                           Stream::tensor,
                           ExposedKind::tensor,
                           {.main = 0.5}});
  ChunkProgram& chunk = program.chunks.emplace_back();
  chunk.forward = chunk.backward = {Compute{0}, Communicate{0, 0, true}, Wait{0}};
  program.prologue = program.epilogue = {Compute{1}};
  return program;
}

TEST(PaceEstimate, IsThatOfAPipeline) {
  const PaceEstimate estimate({stage_of(1), stage_of(2.5)}, {2, 2, 4, 2});
  const SpeedFactors plain;
  // 4 micro-batches of 5 s, the 2 s of the other stage by two chunks, 6 s at both ends
  EXPECT_DOUBLE_EQ(estimate({plain, plain}), 4 * 5 + 2.0 / 2 + 6);
  EXPECT_DOUBLE_EQ(estimate({{3, 1}, plain}), 4 * 6 + 5.0 / 2 + 18);
  EXPECT_DOUBLE_EQ(estimate({plain, {1, 20}}), 4 * 30 + 2.0 / 2 + 10);  // its host: 1.5 s, 0.5 s
}

TEST(UnitTasks, AreThoseOfTheOrderAndMayMeetReductions) {
  std::vector<StageProgram> programs{stage_of(1)};
  programs.front().chunks.front().backward_weight = {Compute{0}};
  // Forward and backward of three instructions each, twice, and one weight gradient by itself.
  const StageOrder order{{UnitKind::forward, MicroBatch{0}},
                         {UnitKind::forward, MicroBatch{1}},
                         {UnitKind::backward, MicroBatch{0}},
                         {UnitKind::backward, MicroBatch{1}},
                         {UnitKind::backward_weight, MicroBatch{1}}};
  EXPECT_EQ(unit_tasks(programs.front(), order), 2 * 6 + 1);
  ChunkProgram& chunk = programs.front().chunks.front();
  chunk.last_backward = chunk.backward;
  EXPECT_FALSE(exchanges_beside_units(programs));
  programs.front().calls.push_back(programs.front().calls.front());
  programs.front().calls.back().group = GroupKind::dense_data;
  chunk.last_backward.push_back(Communicate{1, 1, true});
  EXPECT_TRUE(exchanges_beside_units(programs));
  // Nothing is met where units exchange nothing.
  chunk.forward = chunk.backward = {Compute{0}};
  chunk.last_backward = {Compute{0}, Communicate{1, 1, true}};
  EXPECT_FALSE(exchanges_beside_units(programs));
}

/// Two replicas of one rank, in one class.
struct TwoReplicas {
  TwoReplicas() {
    plan.dp = 2;
    stalls.ranks = 2;
    stalls.speed = {{1.0, 1.5}, {1.2, 2.5}};
    classes = {{Rank{0}}, {Stage{0}}, {0}, {2}, {0, 0}};
  }
  ParallelPlan plan;
  StallPlan stalls;
  RankClasses classes;
};

TEST(WorstReplica, ItsClassesGoAtItsPaceAndOthersAtTheirMean) {
  const TwoReplicas job;
  const Placement placement(job.plan);
  const LockStep lock_step(placement, {stage_of(1)});
  ASSERT_EQ(lock_step.replicas(), 2U);
  const std::vector<SpeedFactors> pace{{1.2, 2.5}};
  const StallPlan own = at_pace_of(job.stalls, lock_step, job.classes, pace, 1);
  EXPECT_EQ(own.speed_of(Rank{0}), (SpeedFactors{1.2, 2.5}));
  const StallPlan other = at_pace_of(job.stalls, lock_step, job.classes, pace, 7);
  EXPECT_DOUBLE_EQ(other.speed_of(Rank{0}).device, 1.1);
  EXPECT_DOUBLE_EQ(other.speed_of(Rank{0}).host, 2);
}

// Ranks of mean pace 1.1 were replayed at 1.5, or at 1.
TEST(WorstReplica, WhatItsRanksDidNotWorkIsWaiting) {
  const TwoReplicas job;
  const auto at = [&](double pace) {
    Timeline timeline;
    RankTimes& times = timeline.classes.emplace_back();
    times.computing = Seconds{3};
    times.other_idle = Seconds{0.125};
    times.bubble = Seconds{0.125};
    times.exposed[0] = Seconds{0.25};
    StallPlan replayed = job.stalls;
    replayed.speed = {{pace, 1}, {pace, 1}};
    give_back_waiting(timeline, job.classes, job.stalls, replayed);
    return timeline.classes.front();
  };
  EXPECT_NEAR(at(1.5).computing.value(), 2.2, 1e-12);
  EXPECT_NEAR(at(1.5).other_idle.value(), 0.925, 1e-12);
  const RankTimes faster = at(1);
  EXPECT_NEAR(faster.computing.value(), 3.3, 1e-12);
  EXPECT_EQ(faster.other_idle.value(), 0);
  EXPECT_EQ(faster.bubble.value(), 0);
  EXPECT_NEAR(faster.exposed[0].value(), 0.2, 1e-12);
}

}  // namespace
}  // namespace stepcast
