#include "stepcast/scheduler/stage_order.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "schedule_oracles.hpp"
#include "shapes.hpp"
#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {
namespace {

using testing::any_shape;
using testing::label;

// MindSpore: bias 1, and a cycle has one chunk to pass. TeleChat3's recipe runs it so.
TEST(StageOrder, SeqsmartvppOfOneChunkIsSeqpipeAndOfOneSlice1f1b) {
  for (const std::int64_t slices : {1, 2, 4}) {
    PipelineShape shape{4, 1, 8, 4};
    shape.slices = slices;
    const PipelineSchedule& smart = pipeline_schedule("seqsmartvpp");
    EXPECT_EQ(smart.rule(shape), "");
    for (std::uint32_t s = 0; s < 4; ++s) {
      const std::string order = to_string(smart.order(shape, Stage{s}), shape);
      EXPECT_EQ(order, to_string(pipeline_schedule("seqpipe").order(shape, Stage{s}), shape));
      if (slices > 1) continue;
      EXPECT_EQ(order, to_string(pipeline_schedule("1f1b").order(shape, Stage{s}), shape));
    }
  }
}

TEST(StageOrder, EqualsTheReferenceOrders) {
  const auto oracles = testing::schedule_oracles();
  EXPECT_EQ(oracles.size(), 18U);
  for (const auto& oracle : oracles) {
    const PipelineSchedule& schedule = pipeline_schedule(oracle.schedule);
    EXPECT_EQ(schedule.rule(oracle.shape), "") << oracle.name;
    for (std::uint32_t s = 0; s < oracle.orders.size(); ++s) {
      const StageOrder order = schedule.order(oracle.shape, Stage{s});
      EXPECT_EQ(to_string(order, oracle.shape), oracle.orders[s]) << oracle.name << " stage " << s;
      EXPECT_EQ(peak_in_flight(order), oracle.peak_in_flight[s]) << oracle.name << " stage " << s;
    }
  }
}

/// Units of a shape on one stage, counted by the plainest means there is.
using Counts =
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::array<int, 4>>;

/// Fails unless every unit is there once, each after what its own stage must have done before.
Counts counted(const StageOrder& order) {
  Counts counts;
  for (const Unit& unit : order) {
    auto& [forward, backward, input, weight] =
        counts[{unit.chunk.value, unit.micro_batch.value, unit.slice.value}];
    const int before = forward + backward + input + weight;
    switch (unit.kind) {
      case UnitKind::forward:
        RC_ASSERT(before == 0);
        ++forward;
        break;
      case UnitKind::backward:
        RC_ASSERT(before == 1 && forward == 1);
        ++backward;
        break;
      case UnitKind::backward_input:
        RC_ASSERT(before == 1 && forward == 1);
        ++input;
        break;
      case UnitKind::backward_weight:
        RC_ASSERT(before == 2 && input == 1);
        ++weight;
    }
  }
  return counts;
}

// Every schedule on every shape that its rule allows: each unit once, F before B before W, and the
// flags of the table say what the orders hold.
TEST(StageOrder, EachUnitOnceAndForwardBeforeBackward) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    EXPECT_TRUE(rc::check(std::string(schedule.name), [&] {
      const PipelineShape shape = any_shape(schedule);
      RC_LOG() << label(schedule, shape);
      for (const StageOrder& order : stage_orders(schedule, shape)) {
        const Counts counts = counted(order);
        RC_ASSERT(
            counts.size() ==
            static_cast<std::size_t>(shape.chunks * micro_batches_per_chunk(shape) * shape.slices));
        for (const auto& [unit, n] : counts) {
          RC_ASSERT(n[1] == 1 || (n[2] == 1 && n[3] == 1));
          RC_ASSERT(schedule.splits_backward || n[1] == 1);
          RC_ASSERT(std::get<0>(unit) < shape.chunks);
        }
        RC_ASSERT(schedule.pairs || std::ranges::none_of(order, &Unit::with_next));
      }
    }));
  }
}

// The seats of a pipeline are one path from the input to the loss and back the same way.
TEST(StageOrder, SeatsAreOnePath) {
  for (const ChunkPlacement placement :
       {ChunkPlacement::loop, ChunkPlacement::v_shape, ChunkPlacement::bidirectional}) {
    PipelineShape shape{6, placement == ChunkPlacement::loop ? 3 : 2, 12, 6};
    shape.placement = placement;
    int inputs = 0, losses = 0;
    for (std::uint32_t c = 0; c < shape.chunks; ++c) {
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        const Seat seat{Chunk{c}, Stage{s}};
        const auto before = seat_before(shape, seat), after = seat_after(shape, seat);
        const std::int64_t place = virtual_stage(shape, seat.chunk, seat.stage);
        EXPECT_EQ(before.has_value(), place > 0);
        EXPECT_EQ(after.has_value(), place + 1 < virtual_stages(shape));
        if (before) {
          EXPECT_EQ(virtual_stage(shape, before->chunk, before->stage), place - 1);
          EXPECT_EQ(seat_after(shape, *before), seat);
        }
        inputs += before ? 0 : 1;
        losses += after ? 0 : 1;
      }
    }
    const int pipelines = placement == ChunkPlacement::bidirectional ? 2 : 1;
    EXPECT_EQ(inputs, pipelines);
    EXPECT_EQ(losses, pipelines);
  }
}

TEST(StageOrder, InFlightPerChunkCountsEachChunkAlone) {
  const PipelineShape shape{4, 2, 8, 4};
  const auto order = pipeline_schedule("interleaved_1f1b").order(shape, Stage{0});
  EXPECT_EQ(in_flight(order, 2), (std::vector<int>{8, 4}));
}

TEST(StageOrder, WeightsOfOneCountForwards) {
  PipelineShape shape{4, 2, 8, 4, 3};
  const auto order = pipeline_schedule("seqpipe").order(shape, Stage{1});
  const auto counted = in_flight_moments(order, 2);
  const auto weighed = in_flight_moments(order, 2, {1, 1, 1});
  ASSERT_EQ(weighed.size(), counted.size());
  for (std::size_t i = 0; i < counted.size(); ++i)
    EXPECT_EQ(weighed[i], std::vector<double>(counted[i].begin(), counted[i].end()));
}

TEST(StageOrder, SlicesOfUnequalWeightAddUp) {
  const PipelineShape shape{1, 1, 2, 1, 2};
  const auto order = pipeline_schedule("terapipe").order(shape, Stage{0});
  EXPECT_EQ(in_flight_moments(order, 1, {1.5, 0.5}),
            (std::vector<std::vector<double>>{{0}, {1.5}, {2}, {3.5}, {4}}));
}

// Two weight gradients wait on the last stage.
TEST(StageOrder, WaitingWeightGradientsKeepAPart) {
  PipelineShape shape{2, 1, 3, 2};
  shape.put_off = 2;
  const auto order = pipeline_schedule("zb_h1").order(shape, Stage{1});
  EXPECT_EQ(to_string(order, shape), "F0 b0 F1 b1 F2 b2 w0 w1 w2");
  EXPECT_EQ(in_flight_moments(order, 1, {1}, 0.5),
            (std::vector<std::vector<double>>{{0}, {1}, {1.5}, {2}}));
  EXPECT_EQ(in_flight_moments(order, 1, {1}),
            (std::vector<std::vector<double>>{{0}, {1}, {2}, {3}}));
}

// F0 {F1|B0} B1: layers of F1 come as those of B0 go.
TEST(StageOrder, APairTakesThePlaceOfItsBackward) {
  const PipelineShape shape{1, 1, 2};
  const auto order = paired_orders(pipeline_schedule("1f1b"), shape).front();
  EXPECT_EQ(to_string(order, shape), "F0 {F1|B0} B1");
  EXPECT_EQ(in_flight_moments(order, 1), (std::vector<std::vector<int>>{{0}, {1}}));
  EXPECT_EQ(in_flight_moments(order, 1, {1}), (std::vector<std::vector<double>>{{0}, {1}}));
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
  const auto sliced = [](PipelineShape shape, std::int64_t slices) {
    return shape.slices = slices, shape;
  };
  const auto warmed = [](PipelineShape shape, WarmUp warm_up) {
    return shape.warm_up = warm_up, shape;
  };
  const WarmUp extra{WarmUp::Kind::extra, 1}, less{WarmUp::Kind::less_memory};
  const struct {
    const char* schedule;
    PipelineShape shape;
    const char* says;
  } rows[] = {
      {"1f1b", {4, 2, 8, 4}, "vpp 1"},
      {"1f1b", warmed({4, 1, 8, 4}, extra), "warmup standard, or interleaved_1f1b"},
      {"1f1b", sliced({4, 1, 8, 4}, 2), "slices 1, or terapipe"},
      {"zb_h1", sliced({4, 1, 8, 4}, 2), "slices 1, or terapipe"},
      {"interleaved_1f1b", {4, 1, 8, 4}, "vpp >= 2"},
      {"interleaved_1f1b", {4, 2, 6, 4}, "last group of 2"},
      {"interleaved_1f1b", {4, 2, 3, 4}, "at least as many"},
      {"interleaved_1f1b", {1, 2, 3, 1}, "pp >= 2"},
      {"interleaved_1f1b", {4, 2, 8, 9}, "allowed: pp (4) to the number of micro-batches (8)"},
      {"interleaved_1f1b", warmed({4, 2, 8, 8}, less), "group 8, allowed: group pp (4)"},
      {"interleaved_1f1b", sliced({4, 2, 8, 4}, 2), "slices 1, or terapipe"},
      {"terapipe", sliced({4, 2, 8, 4}, 2), "vpp 1"},
      {"seqvpp", sliced({4, 1, 8, 4}, 2), "vpp >= 2"},
      {"seqvpp", {4, 2, 8, 4}, "slices >= 2, or interleaved_1f1b"},
      {"seqvpp", sliced({4, 2, 8, 4}, 5), "slices 1 to pp (4)"},
      {"seqvpp", sliced({4, 2, 1, 4}, 2), "at least as many slices in all as stages"},
      {"seqvpp", sliced({11, 2, 22, 4}, 6), "cycles of 6 slices on 11 stages"},
      {"seqsmartvpp", sliced({3, 2, 8, 3}, 2), "an even number of stages"},
      {"zb_v", {4, 1, 8, 4}, "vpp 2"},
      {"zb_v", {4, 2, 7, 4}, "2 micro-batches per stage, got 7 on 4 stages, allowed: 8 or more"},
      {"v_min", {4, 3, 7, 4}, "vpp 2"},
      {"dualpipe", {3, 2, 8, 3}, "even number of stages"},
      {"dualpipe", {4, 2, 9, 4}, "half of the micro-batches to each direction, got 9"},
      {"dualpipe_v", {4, 2, 7, 4}, "allowed: 8 or more"},
  };
  for (const auto& [schedule, shape, says] : rows) {
    const std::string rule = pipeline_schedule(schedule).rule(shape);
    EXPECT_NE(rule.find(says), std::string::npos) << schedule << ": " << rule;
  }
}

// One forward ahead of what the schedule needs, so that no pair waits for itself.
TEST(StageOrder, OneMicroBatchHasNothingToPairWith) {
  const std::vector<StageOrder> orders = exchanging_orders(pipeline_schedule("1f1b"), {2, 1, 1, 2});
  for (const StageOrder& order : orders)
    for (const Unit& unit : order) EXPECT_FALSE(unit.with_next);
}

TEST(StageOrder, PairsOfTheSteadyPhaseRun) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = pipeline_schedule("interleaved_1f1b");
    PipelineShape shape = any_shape(schedule);
    shape.warm_up = {WarmUp::Kind::extra, *rc::gen::inRange<std::int64_t>(1, 4)};
    RC_PRE(schedule.rule(shape).empty());
    RC_ASSERT(pairing_rule(schedule, shape).empty());
    const auto orders = paired_orders(schedule, shape);
    RC_ASSERT(order_faults(orders, shape).empty());
    const auto units = static_cast<std::size_t>(2 * shape.micro_batches * shape.chunks);
    for (const StageOrder& order : orders) RC_ASSERT(order.size() == units);
  }));
  for (const std::int64_t m : {1, 2, 9}) {
    const PipelineShape one{1, 1, m, 1};
    const auto orders = paired_orders(pipeline_schedule("1f1b"), one);
    EXPECT_TRUE(order_faults(orders, one).empty());
    EXPECT_EQ(peak_in_flight(orders[0]), m == 1 ? 1 : 2);
  }
}

}  // namespace
}  // namespace stepcast
