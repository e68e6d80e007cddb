#include <gtest/gtest.h>

#include <functional>

#include "pipelines.hpp"
#include "scheduler/schedule_oracles.hpp"
#include "scheduler/shapes.hpp"
#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;

void expect_relative(double actual, double expected, const std::string& what) {
  EXPECT_NEAR(actual, expected, 1e-9 * expected) << what;
}

/// All shapes that the issue of closed forms covers: p in 2..16, m in p..8p, v in 1..4
/// (interleaved: p divides m).
void for_each_shape(const std::function<void(const PipelineCase&)>& body) {
  for (std::int64_t p = 2; p <= 16; ++p) {
    for (std::int64_t m = p; m <= 8 * p; ++m) {
      body({"gpipe", {p, 1, m, p}});
      body({"1f1b", {p, 1, m, p}});
      for (std::int64_t v = 2; v <= 4 && m % p == 0; ++v) body({"interleaved_1f1b", {p, v, m, p}});
    }
  }
}

std::string label(const PipelineCase& c) {
  return c.schedule + " p" + std::to_string(c.shape.stages) + " m" +
         std::to_string(c.shape.micro_batches) + " v" + std::to_string(c.shape.chunks);
}

TEST(PipelineClosedForm, MakespanAndBubbleOfEqualStages) {
  for_each_shape([](PipelineCase c) {
    c.costs = {Seconds{1.0}, Seconds{1.2}, Seconds{0.8}};
    const double p = static_cast<double>(c.shape.stages),
                 m = static_cast<double>(c.shape.micro_batches),
                 v = static_cast<double>(c.shape.chunks), unit = 3.0;
    const Timeline t = run_pipeline(c);
    expect_relative(t.step_time.value(), (m * v + p - 1) * unit, label(c));
    for (const RankTimes& rank : t.classes) {
      expect_relative(rank.bubble.value(), (p - 1) * unit, label(c) + " bubble");
      expect_relative(rank.computing.value(), m * v * unit, label(c) + " computing");
      expect_relative(rank.total().value(), t.step_time.value(), label(c) + " sum of parts");
    }
  });
}

/// Extra time by a latency c below every unit time, published for async transfers between equal
/// stages.
double latency_steps(const PipelineCase& c) {
  const std::int64_t p = c.shape.stages, m = c.shape.micro_batches, v = c.shape.chunks;
  if (c.schedule == "gpipe") return static_cast<double>(2 * (p - 1));
  if (c.schedule == "1f1b") return static_cast<double>(2 * (m + p - 3) - 2 * ((m - 2) / p));
  return static_cast<double>(2 * (v * p - 1));
}

TEST(PipelineClosedForm, LatencyAddsItsPublishedMultiple) {
  for_each_shape([](PipelineCase c) {
    const double free = run_pipeline(c).step_time.value();
    c.latency = 0.001;
    const Timeline t = run_pipeline(c);
    EXPECT_NEAR(t.step_time.value(), free + latency_steps(c) * c.latency, 1e-9 * free) << label(c);
    for (const RankTimes& rank : t.classes) {
      expect_relative(rank.total().value(), t.step_time.value(), label(c) + " sum of parts");
    }
  });
}

TEST(PipelineClosedForm, ReferenceSchedules) {
  for (const auto& oracle : testing::schedule_oracles()) {
    PipelineCase c{oracle.schedule, oracle.shape};
    const Timeline free = run_pipeline(c);
    const auto orders = stage_orders(pipeline_schedule(oracle.schedule), oracle.shape);
    for (std::size_t s = 0; s < orders.size(); ++s)
      EXPECT_EQ(peak_in_flight(orders[s]), oracle.peak_in_flight[s]) << oracle.name;
    expect_relative(free.step_time.value(), oracle.makespan, oracle.name);
    for (std::size_t s = 0; s < oracle.idle.size(); ++s) {
      expect_relative(free.classes[s].bubble.value(), oracle.idle[s], oracle.name + " idle");
    }
    c.latency = 0.1;
    expect_relative(run_pipeline(c).step_time.value(), oracle.makespan_latency,
                    oracle.name + " latency 0.1");
  }
}

// The replay and the times of the scheduler layer are two implementations of one rule.
TEST(PipelineClosedForm, RandomShapesOfEveryScheduleTakeWhatTheirOrdersTake) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    const PipelineShape shape = testing::any_shape(schedule);
    RC_TAG(std::string(schedule.name));
    const auto cost = [] { return Seconds{*rc::gen::inRange(1, 40) * 0.1}; };
    PipelineCase c{std::string(schedule.name), shape, {cost(), cost(), cost()}};
    c.latency = *rc::gen::inRange(0, 20) * 0.05;
    const OrderTimes times = time_orders(stage_orders(schedule, shape), shape,
                                         {c.costs.forward,
                                          c.costs.backward_input,
                                          c.costs.backward_weight,
                                          {},
                                          {},
                                          Seconds{c.latency}});
    const Timeline t = run_pipeline(c);
    const double most = 1e-9 * times.makespan.value();
    RC_ASSERT(std::abs((t.step_time - times.makespan).value()) <= most);
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      RC_ASSERT(std::abs((t.classes[s].computing - times.computing[s]).value()) <= most);
      RC_ASSERT(std::abs((t.classes[s].total() - t.step_time).value()) <= most);
    }
  }));
}

// Blocking transfers hold the sender: one stage pair, F then B, each waits for its own send.
TEST(PipelineClosedForm, BlockingTransfersHoldTheSender) {
  PipelineCase c{"gpipe", {2, 1, 4, 2}};
  c.latency = 0.5;
  c.p2p = ScheduleSpec::PointToPoint::blocking;
  // Stage 0 sends after each forward and waits 0.5; stage 1 follows one hop later and sends each
  // gradient likewise.
  const double forwards = 4 * 1.5 + 1, backwards = 4 * 2.5 + 2;
  expect_relative(run_pipeline(c).step_time.value(), forwards + backwards, "blocking gpipe");
}

TEST(PipelineClosedForm, OneStageHasNoBubble) {
  const Timeline t = run_pipeline({"1f1b", {1, 1, 5, 1}});
  expect_relative(t.step_time.value(), 15, "one stage");
  EXPECT_EQ(t.classes[0].bubble, Seconds{0});
}

}  // namespace
}  // namespace stepcast
