#include <gtest/gtest.h>

#include "pipelines.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;

/// At the idle clock all work takes twice as long.
StallPlan clocks(std::size_t ranks, double hold, double ramp) {
  StallPlan plan;
  plan.ranks = ranks;
  plan.idle_clock = IdleClock{0.5, Seconds{hold}, Seconds{ramp}, 1};
  return plan;
}

/// Two stages with one micro-batch, forward and backward 1 s each: 0 and 1, then 1 and 0.
PipelineCase two_stages() {
  PipelineCase c{"1f1b", {2, 1, 1, 2}};
  c.costs = {Seconds{1}, Seconds{0.5}, Seconds{0.5}};
  return c;
}

TEST(IdleClock, MemoryKeepsItsOwn) {
  EXPECT_DOUBLE_EQ((IdleClock{800.0 / 1800, {}, {}, 1}.slowness()), 2.25);
  EXPECT_DOUBLE_EQ((IdleClock{800.0 / 1800, {}, {}, 0.8}.slowness()), 0.8 * 2.25 + 0.2);
}

// Nobody is without work for 5 s.
TEST(IdleClock, WhatNeverFallsCostsNothing) {
  PipelineCase c = two_stages();
  const Timeline plain = run_pipeline(c);
  EXPECT_DOUBLE_EQ(plain.step_time.value(), 4);
  const StallPlan plan = clocks(2, 5, 10);
  c.stalls = &plan;
  const Timeline same = run_pipeline(c);
  EXPECT_NEAR(same.step_time.value(), 4, 4e-9);
  EXPECT_EQ(same.classes[0].clock.value(), 0);
}

// Stage 1 begins after 1 s without work and is slow throughout, stage 0 waits for 4 s and is slow.
TEST(IdleClock, GapsMakeTheWorkBehindThemLonger) {
  PipelineCase c = two_stages();
  const StallPlan plan = clocks(2, 0.5, 10);
  c.stalls = &plan;
  const Timeline slow = run_pipeline(c);
  EXPECT_DOUBLE_EQ(slow.step_time.value(), 1 + 2 + 2 + 2);
  EXPECT_DOUBLE_EQ(slow.classes[0].clock.value(), 1);
  EXPECT_DOUBLE_EQ(slow.classes[1].clock.value(), 2);
  EXPECT_DOUBLE_EQ(slow.classes[0].computing.value(), 3);
}

// Of each gap half the ramp is lost: 0.25 s at either stage.
TEST(IdleClock, TheClockComesBack) {
  PipelineCase c = two_stages();
  const StallPlan plan = clocks(2, 0.5, 0.5);
  c.stalls = &plan;
  EXPECT_DOUBLE_EQ(run_pipeline(c).step_time.value(), 4 + 0.25 + 0.25);
}

// Latencies leave gaps in every micro-batch.
TEST(IdleClock, SkippingTheSteadyStateChangesNothing) {
  for (const double hold : {0.05, 0.3}) {
    PipelineCase c{"1f1b", {4, 1, 256, 4}};
    c.costs = {Seconds{1}, Seconds{0.5}, Seconds{0.5}};
    c.latency = 0.1;
    const StallPlan plan = clocks(4, hold, 0.2);
    c.stalls = &plan;
    const Timeline skipped = run_pipeline(c);
    c.skip_recurring = false;
    const Timeline full = run_pipeline(c);
    EXPECT_GT(skipped.skipped_micro_batches, 100U);
    EXPECT_NEAR(skipped.step_time.value(), full.step_time.value(), 1e-9 * full.step_time.value());
    for (std::size_t r = 0; r < 4; ++r)
      EXPECT_NEAR(skipped.classes[r].clock.value(), full.classes[r].clock.value(), 1e-7);
  }
}

}  // namespace
}  // namespace stepcast
