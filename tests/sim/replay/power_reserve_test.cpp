#include "sim/replay/power_reserve.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <vector>

#include "pipelines.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;

constexpr PowerCap cap{Seconds{2}, 0.5, 0.5, 0.25};

// At the full clock 4 s of work that draws twice the limit take 2 s and cost 2 s of what was saved.
TEST(PowerReserve, IsSpentOnWorkAboveTheLimit) {
  PowerReserve reserve;
  EXPECT_DOUBLE_EQ(reserve.time_of(cap, 0, 4, 2), 4) << "nothing is saved yet";
  reserve.end(4);
  EXPECT_DOUBLE_EQ(reserve.time_of(cap, 4, 1, 0.5), 1) << "light work is as long";
  reserve.end(5);
  EXPECT_DOUBLE_EQ(reserve.saved(), 0.5);
  EXPECT_DOUBLE_EQ(reserve.time_of(cap, 6, 4, 2), 4 - 0.5 - 0.75) << "a second without work";
  reserve.end(8.75);
  EXPECT_DOUBLE_EQ(reserve.saved(), 0);
  EXPECT_DOUBLE_EQ(reserve.time_of(cap, 108.75, 3, 2), 1.5) << "all of it at the full clock";
  EXPECT_DOUBLE_EQ(reserve.saved(), 0.5) << "the window was full";
}

/// What happens in small pieces of time: the clock is full while something is saved.
double by_pieces(const PowerCap& power, double& saved, double gap, double work, double draw) {
  saved = std::min(power.window.value(), saved + gap * (1 - power.waiting));
  constexpr int pieces = 20000;
  double time = 0;
  for (int i = 0; i < pieces; ++i) {
    const double slow = work / pieces, full = draw > 1 ? slow / draw : slow;
    const double drawn = draw > 1 ? slow : slow * draw;
    const bool at_full = draw <= 1 || saved >= slow - full;
    time += at_full ? full : slow;
    if (at_full) saved = std::min(power.window.value(), saved + full - drawn);
  }
  return time;
}

TEST(PowerReserve, IsThatOfTheRunningBalance) {
  EXPECT_TRUE(rc::check([] {
    const auto number = [](int low, int high) { return *rc::gen::inRange(low, high) / 100.0; };
    const PowerCap power{Seconds{number(1, 300)}, 1, 1, number(0, 101)};
    PowerReserve reserve;
    double now = 0, saved = 0, drawn = 0;
    for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
      const double gap = number(0, 200), work = number(1, 200), draw = number(0, 300);
      const double time = reserve.time_of(power, now + gap, work, draw);
      const double piecewise = by_pieces(power, saved, gap, work, draw);
      RC_ASSERT(std::abs(time - piecewise) < 1e-3);
      RC_ASSERT(time <= work && time >= work / std::max(1.0, draw) * (1 - 1e-12));
      now += gap + time;
      reserve.end(now);
      drawn += gap * power.waiting + std::min(draw, 1.0) * work;
      RC_ASSERT(drawn <= now + 1e-9);  // on the mean never more than the limit
    }
  }));
}

/// A pipeline whose operators draw more than the limit allows, with latencies that leave gaps.
TEST(PowerReserve, SkippingTheSteadyStateChangesNothing) {
  PipelineCase c{"1f1b", {4, 1, 256, 4}};
  c.costs = {Seconds{1}, Seconds{0.5}, Seconds{0.5}};
  c.latency = 0.1;
  c.draw = 1.5;
  StallPlan plan;
  plan.ranks = 4;
  plan.power_cap = PowerCap{Seconds{0.2}, 1, 1, 0};
  const Timeline steady = run_pipeline(c);
  c.stalls = &plan;
  const Timeline skipped = run_pipeline(c);
  c.skip_recurring = false;
  const Timeline full = run_pipeline(c);
  EXPECT_GT(skipped.skipped_micro_batches, 100U);
  EXPECT_LT(skipped.step_time, steady.step_time);
  EXPECT_NEAR(skipped.step_time.value(), full.step_time.value(), 1e-9 * full.step_time.value());
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_LT(full.classes[r].clock.value(), 0);
    EXPECT_NEAR(skipped.classes[r].clock.value(), full.classes[r].clock.value(), 1e-7);
  }
}

}  // namespace
}  // namespace stepcast
