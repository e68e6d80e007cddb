#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "pipelines.hpp"
#include "scheduler/shapes.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;

std::vector<double> parts(const RankTimes& t) {
  std::vector<double> all{
      t.computing.value(),  t.bubble.value(),        t.host_stall.value(), t.compile_stall.value(),
      t.other_idle.value(), t.communication.value(), t.segments,           t.end.value()};
  for (const Seconds exposed : t.exposed) all.push_back(exposed.value());
  return all;
}

/// Step time and every part of every rank, with and without skipping; returns what was skipped.
std::uint64_t expect_equal(PipelineCase c) {
  const Timeline skipped = run_pipeline(c);
  c.skip_recurring = false;
  const Timeline full = run_pipeline(c);
  EXPECT_EQ(full.skipped_micro_batches, 0U);
  const double most = 1e-9 * full.step_time.value();
  EXPECT_NEAR(skipped.step_time.value(), full.step_time.value(), most);
  for (std::size_t r = 0; r < full.classes.size(); ++r) {
    const auto a = parts(skipped.classes[r]), b = parts(full.classes[r]);
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], most)
          << "part " << i << " of rank " << r << ": " << c.schedule << " p " << c.shape.stages
          << " v " << c.shape.chunks << " m " << c.shape.micro_batches << " latency " << c.latency
          << " steps " << c.steps;
  }
  return skipped.skipped_micro_batches;
}

// The clock advances 3.2, 3.2, 3.2, then 3.0 per micro-batch: equal advances are no steady state.
TEST(SteadyState, EqualAdvancesAreNotEnough) {
  for (std::int64_t m = 4; m <= 40; ++m) {
    PipelineCase c{"1f1b", {4, 1, m, 4}};
    c.latency = 0.1;
    expect_equal(c);
  }
}

TEST(SteadyState, LongPipelinesAreSkippedAndGiveTheSame) {
  PipelineCase c{"1f1b", {4, 1, 4096, 4}};
  c.latency = 0.1;
  EXPECT_GT(expect_equal(c), 4000U);
  c.schedule = "interleaved_1f1b";
  c.shape = {4, 3, 2048, 4};
  EXPECT_GT(expect_equal(c), 1900U);
  c.schedule = "gpipe";
  c.shape = {4, 1, 2048, 4};
  EXPECT_GT(expect_equal(c), 3900U);  // once forward, once backward
}

TEST(SteadyState, CostDoesNotGrowWithMicroBatches) {
  const auto events = [](std::int64_t m) {
    PipelineCase c{"1f1b", {8, 1, m, 8}};
    c.latency = 0.1;
    return run_pipeline(c).tasks;
  };
  EXPECT_EQ(events(1024), events(65536));
}

TEST(SteadyState, RandomPipelinesGiveTheSame) {
  std::map<std::string, std::uint64_t> skipped;
  EXPECT_TRUE(rc::check([&skipped] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    PipelineCase c{std::string(schedule.name), testing::any_shape(schedule)};
    c.shape.micro_batches *= *rc::gen::inRange(1, 8);
    RC_PRE(schedule.rule(c.shape).empty());
    const auto cost = [] { return Seconds{*rc::gen::inRange(1, 50) * 0.1}; };
    c.costs = {cost(), cost(), cost()};
    c.latency = *rc::gen::inRange(0, 40) * 0.05;
    c.p2p = *rc::gen::element(ScheduleSpec::PointToPoint::overlapped,
                              ScheduleSpec::PointToPoint::blocking);
    c.steps = *rc::gen::inRange(1, 4);
    skipped[c.schedule] += expect_equal(c);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
  for (const char* schedule : {"1f1b", "gpipe", "interleaved_1f1b"})
    EXPECT_GT(skipped[schedule], 0U);
}

// Each of them comes to a steady state that is skipped.
TEST(SteadyState, EveryScheduleIsSkipped) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    PipelineCase c{std::string(schedule.name),
                   {4, schedule.chunks.low, 512, 4, schedule.slices.low}};
    c.shape.placement = schedule.placement;
    c.latency = 0.1;
    EXPECT_GT(expect_equal(c), 100U) << schedule.name;
  }
}

}  // namespace
}  // namespace stepcast
