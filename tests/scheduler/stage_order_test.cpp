#include "stepcast/scheduler/stage_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "scheduler/schedule_oracles.hpp"

namespace stepcast {
namespace {

TEST(StageOrder, EqualsTheReferenceOrders) {
  for (const auto& oracle : testing::schedule_oracles()) {
    const PipelineSchedule& schedule = pipeline_schedule(oracle.schedule);
    EXPECT_EQ(schedule.rule(oracle.shape), "") << oracle.name;
    for (std::uint32_t s = 0; s < oracle.orders.size(); ++s) {
      const StageOrder order = schedule.order(oracle.shape, Stage{s});
      EXPECT_EQ(testing::order_text(order, oracle.shape.chunks), oracle.orders[s])
          << oracle.name << " stage " << s;
      EXPECT_EQ(peak_in_flight(order), oracle.peak_in_flight[s]) << oracle.name << " stage " << s;
    }
  }
}

/// A shape that the schedule's rule allows.
PipelineShape any_shape(const PipelineSchedule& schedule) {
  PipelineShape shape;
  const bool interleaved = schedule.name == "interleaved_1f1b";
  shape.stages = *rc::gen::inRange(interleaved ? 2 : 1, 12);
  shape.chunks = interleaved ? *rc::gen::inRange(2, 5) : 1;
  shape.group = *rc::gen::inRange(shape.stages, shape.stages + 6);
  const std::int64_t rest = *rc::gen::inRange(shape.stages, shape.group + 1);
  shape.micro_batches =
      interleaved ? shape.group * *rc::gen::inRange(0, 4) + rest : *rc::gen::inRange(1, 40);
  shape.group = std::min(shape.group, shape.micro_batches);
  return shape;
}

// Every schedule that its rule allows does each unit once, and each forward before its backward.
TEST(StageOrder, EachUnitOnceAndForwardBeforeBackward) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    EXPECT_TRUE(rc::check(std::string(schedule.name), [&] {
      const PipelineShape shape = any_shape(schedule);
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, int> done;
        for (const Unit& unit : schedule.order(shape, Stage{s})) {
          int& seen = done[{unit.micro_batch.value, unit.chunk.value}];
          RC_ASSERT(seen == (unit.kind == UnitKind::forward ? 0 : 1));
          ++seen;
        }
        RC_ASSERT(done.size() == static_cast<std::size_t>(shape.micro_batches * shape.chunks));
        for (const auto& [unit, times] : done) RC_ASSERT(times == 2);
      }
    }));
  }
}

// Published peaks: m for gpipe, min(m, p - r) for 1f1b, min(mv, (v-1)N + 2(p-1-r) + 1) interleaved.
TEST(StageOrder, PeakInFlightIsTheClosedForm) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    const PipelineShape shape = any_shape(schedule);
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      const std::int64_t below = shape.stages - 1 - s;
      std::int64_t expected = shape.micro_batches;
      if (schedule.name == "1f1b") expected = std::min(shape.micro_batches, below + 1);
      if (schedule.name == "interleaved_1f1b") {
        expected = std::min(shape.micro_batches * shape.chunks,
                            (shape.chunks - 1) * shape.group + 2 * below + 1);
      }
      RC_ASSERT(peak_in_flight(schedule.order(shape, Stage{s})) == expected);
    }
  }));
}

TEST(StageOrder, InFlightPerChunkCountsEachChunkAlone) {
  const PipelineShape shape{4, 2, 8, 4};
  const auto order = pipeline_schedule("interleaved_1f1b").order(shape, Stage{0});
  EXPECT_EQ(in_flight(order, 2), (std::vector<int>{8, 4}));
}

TEST(StageOrder, InFlightMomentsHoldThePeaks) {
  const PipelineShape shape{4, 2, 8, 4};
  const auto order = pipeline_schedule("interleaved_1f1b").order(shape, Stage{0});
  const auto moments = in_flight_moments(order, 2);
  int together = 0;
  std::vector<int> alone(2);
  for (const auto& moment : moments) {
    together = std::max(together, moment[0] + moment[1]);
    for (std::size_t chunk = 0; chunk < 2; ++chunk) {
      alone[chunk] = std::max(alone[chunk], moment[chunk]);
    }
  }
  EXPECT_EQ(together, peak_in_flight(order));
  EXPECT_EQ(alone, in_flight(order, 2));
  EXPECT_TRUE(std::ranges::is_sorted(moments));
  EXPECT_LT(moments.size(), order.size());
}

TEST(StageOrder, RulesSayWhatIsAllowed) {
  EXPECT_NE(pipeline_schedule("1f1b").rule({4, 2, 8, 4}).find("vpp 1"), std::string::npos);
  EXPECT_NE(pipeline_schedule("interleaved_1f1b").rule({4, 1, 8, 4}).find("vpp >= 2"),
            std::string::npos);
  EXPECT_NE(pipeline_schedule("interleaved_1f1b").rule({4, 2, 6, 4}).find("last group of 2"),
            std::string::npos);
  EXPECT_NE(pipeline_schedule("interleaved_1f1b").rule({4, 2, 3, 4}).find("at least as many"),
            std::string::npos);
}

}  // namespace
}  // namespace stepcast
