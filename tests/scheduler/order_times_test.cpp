#include "stepcast/scheduler/order_times.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule_oracles.hpp"
#include "shapes.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

using testing::any_shape;
using testing::label;

TEST(OrderTimes, EqualTheReferenceTimes) {
  for (const auto& oracle : testing::schedule_oracles()) {
    const auto orders = stage_orders(pipeline_schedule(oracle.schedule), oracle.shape);
    const OrderTimes times = time_orders(orders, oracle.shape, {});
    EXPECT_NEAR(times.makespan.value(), oracle.makespan, 1e-9) << oracle.name;
    for (std::uint32_t s = 0; s < orders.size(); ++s) {
      EXPECT_NEAR(times.idle(Stage{s}).value(), oracle.idle[s], 1e-9) << oracle.name;
      EXPECT_NEAR(times.units[s].front().start.value(), oracle.start[s], 1e-9) << oracle.name;
      EXPECT_NEAR(times.units[s].back().end.value(), oracle.end[s], 1e-9) << oracle.name;
      EXPECT_EQ(times.peak_in_flight[s], oracle.peak_in_flight[s]) << oracle.name;
    }
    UnitCosts far;
    far.latency = Seconds{0.1};
    EXPECT_NEAR(time_orders(orders, oracle.shape, far).makespan.value(), oracle.makespan_latency,
                1e-9)
        << oracle.name;
  }
}

TEST(OrderTimes, AStageWithoutUnitsIsNotIdleInside) {
  OrderTimes times;
  times.units.resize(1);
  times.computing.resize(1);
  EXPECT_EQ(times.idle_inside(Stage{0}), Seconds{0});
}

// One micro-batch passes both stages forth and back; of many the longer stage sets the pace.
TEST(OrderTimes, PartsTakeTheirOwnTimes) {
  const auto makespan = [](std::int64_t micro_batches) {
    const PipelineShape shape{.stages = 2, .micro_batches = micro_batches, .group = 2};
    const UnitCosts costs{.forward = Seconds{1}, .backward = Seconds{2}, .of_part = {1, 3}};
    return time_orders(stage_orders(pipeline_schedule("1f1b"), shape), shape, costs)
        .makespan.value();
  };
  EXPECT_NEAR(makespan(1), 3 * 1 + 3 * 3, 1e-12);
  EXPECT_NEAR(makespan(10), 3 * 1 + 10 * 3 * 3, 1e-12);
}

TEST(OrderTimes, NoScheduleDeadlocks) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    EXPECT_TRUE(rc::check(std::string(schedule.name), [&] {
      const PipelineShape shape = any_shape(schedule);
      RC_LOG() << label(schedule, shape);
      RC_ASSERT(order_faults(stage_orders(schedule, shape), shape).empty());
    }));
  }
}

/// Times by the plainest means there is: repeat all starts until none changes.
class PlainTimes {
 public:
  PlainTimes(const std::vector<StageOrder>& orders, const PipelineShape& shape,
             const UnitCosts& costs)
      : shape_{shape}, costs_{costs} {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t s = 0; s < orders.size(); ++s) changed |= sweep(orders[s], s);
    }
  }
  double makespan() const {
    double last = 0;
    for (const auto& [unit, end] : end_) last = std::max(last, end);
    return last;
  }

 private:
  /// stage, chunk, micro-batch, slice; 0 forward, 1 input gradient, 2 weight gradient
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t, int>;

  bool sweep(const StageOrder& order, std::uint32_t stage) {
    bool changed = false;
    double free = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool pair = order[i].with_next;
      double start = std::max(free, ready(order[i], stage));
      if (pair) start = std::max(start, ready(order[i + 1], stage));
      free = start + cost(order[i]);
      changed |= put(order[i], stage, free);
      if (pair) changed |= put(order[++i], stage, free);
    }
    return changed;
  }
  bool put(const Unit& unit, std::uint32_t stage, double end) {
    const int product = unit.kind == UnitKind::forward           ? 0
                        : unit.kind == UnitKind::backward_weight ? 2
                                                                 : 1;
    double& known =
        end_[Key{stage, unit.chunk.value, unit.micro_batch.value, unit.slice.value, product}];
    return std::exchange(known, end) != end;
  }
  double cost(const Unit& unit) const {
    const double f = costs_.forward.value(), b = costs_.backward_input.value(),
                 w = costs_.backward_weight.value();
    if (unit.with_next) return f + b + w;
    if (unit.kind == UnitKind::forward) return f;
    if (unit.kind == UnitKind::backward) return b + w;
    return unit.kind == UnitKind::backward_input ? b : w;
  }
  double ready(const Unit& unit, std::uint32_t stage) const {
    const bool forward = unit.kind == UnitKind::forward;
    const std::uint32_t m = unit.micro_batch.value, c = unit.chunk.value;
    if (unit.kind == UnitKind::backward_weight) return at(stage, c, m, unit.slice.value, 1);
    double time = forward ? 0 : at(stage, c, m, unit.slice.value, 0);
    const std::int64_t slice = std::int64_t{unit.slice.value} + (forward ? -1 : 1);
    if (slice >= 0 && slice < shape_.slices)
      time = std::max(time, at(stage, c, m, slice, forward ? 0 : 1));
    const Seat here{unit.chunk, Stage{stage}};
    const auto from = forward ? seat_before(shape_, here) : seat_after(shape_, here);
    if (!from) return time;
    const double hop = from->stage.value == stage ? 0 : costs_.latency.value();
    return std::max(
        time, hop + at(from->stage.value, from->chunk.value, m, unit.slice.value, forward ? 0 : 1));
  }
  double at(std::uint32_t stage, std::uint32_t chunk, std::uint32_t micro_batch, std::int64_t slice,
            int product) const {
    const auto found = end_.find(Key{stage, chunk, micro_batch, slice, product});
    return found == end_.end() ? 0 : found->second;
  }

  PipelineShape shape_;
  UnitCosts costs_;
  std::map<Key, double> end_;
};

TEST(OrderTimes, EqualThePlainReferenceNightly) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    PipelineShape shape = any_shape(schedule);
    RC_PRE(shape.stages * shape.chunks * shape.micro_batches * shape.slices < 800);
    const auto cost = [] { return Seconds{0.25 * *rc::gen::inRange(1, 9)}; };
    UnitCosts costs{cost(), cost(), cost()};
    costs.latency = cost();
    const auto orders = stage_orders(schedule, shape);
    const OrderTimes times = time_orders(orders, shape, costs);
    RC_ASSERT(times.makespan.value() == PlainTimes(orders, shape, costs).makespan());
  }));
}

TEST(OrderTimes, CostsOfWholeBackwardsAndPairs) {
  PipelineShape shape{1, 1, 1, 1};
  const std::vector<StageOrder> plain{
      {{UnitKind::forward, {0}, {0}}, {UnitKind::backward, {0}, {0}}}};
  UnitCosts costs{Seconds{2}, Seconds{3}, Seconds{5}};
  EXPECT_DOUBLE_EQ(time_orders(plain, shape, costs).makespan.value(), 10);
  costs.backward = Seconds{7};
  EXPECT_DOUBLE_EQ(time_orders(plain, shape, costs).makespan.value(), 9);
  // A pair of the one-stage V: its cost replaces forward and backward, others keep theirs.
  const PipelineSchedule& schedule = pipeline_schedule("dualpipe_v");
  PipelineShape v{1, 2, 4, 1};
  v.placement = schedule.placement;
  const auto orders = stage_orders(schedule, v);
  const auto pairs = std::ranges::count_if(orders[0], &Unit::with_next);
  ASSERT_GT(pairs, 0);
  UnitCosts faster;
  faster.pair = Seconds{2.5};
  EXPECT_DOUBLE_EQ(time_orders(orders, v, faster).makespan.value(),
                   8 * 3 - 0.5 * static_cast<double>(pairs));
}

StageOrder units(const std::string& text) {
  StageOrder order;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    const UnitKind kind{static_cast<std::uint8_t>(std::string("FBbw").find(text[i]))};
    order.push_back({kind, {static_cast<std::uint32_t>(text[i + 1] - '0')}, {0}});
  }
  return order;
}

TEST(OrderFaults, NameTheUnit) {
  const PipelineShape shape{1, 1, 2, 1};
  const struct {
    const char *order, *says;
  } rows[] = {
      {"F0 F1 B0 B1", ""},
      {"F0 b0 w0 F1 b1 w1", ""},
      {"F0 F1 B0", "stage 0: B1 is missing"},
      {"F0 B0 B1", "stage 0: F1 is missing"},
      {"F0 F1 B0 B1 B1", "stage 0: B1 is there more than once"},
      {"F0 F1 B0 b1", "stage 0: w1 is missing"},
      {"F0 F1 B0 w1", "stage 0: b1 is missing"},
      {"F0 F1 B0 B1 w1", "stage 0: B1 is there as a whole and in parts"},
      {"F0 F1 B0 B1 F2", "stage 0: F2 is not of this pipeline of 2 micro-batches"},
      {"B0 F0 F1 B1", "stage 0 at B0 needs F0 of stage 0"},
      {"F0 F1 w0 b0 B1", "stage 0 at w0 needs b0 of stage 0"},
  };
  for (const auto& [order, says] : rows) {
    const auto faults = order_faults({units(order)}, shape);
    ASSERT_EQ(faults.size(), *says ? 1U : 0U) << order;
    if (faults.empty()) continue;
    EXPECT_NE(faults[0].find(says), std::string::npos) << faults[0];
    EXPECT_THROW(time_orders({units(order)}, shape, {}), InputError) << order;
  }
  EXPECT_NE(order_faults({}, shape)[0].find("0 stages, allowed: 1"), std::string::npos);
}

TEST(OrderFaults, NameTheCircle) {
  const PipelineShape shape{3, 1, 2, 3};
  // Stage 1 wants the gradient of 1 before it forwards 1.
  const std::vector<StageOrder> orders{units("F0 F1 B0 B1"), units("F0 B0 B1 F1"),
                                       units("F0 B0 F1 B1")};
  const auto faults = order_faults(orders, shape);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0], "the stages wait for each other: stage 1 at B1 needs F1 of stage 1");
  const std::vector<StageOrder> crossed{units("F0 B0 F1 B1"), units("F0 F1 B0 B1"),
                                        units("F0 F1 B0 B1")};
  EXPECT_EQ(
      order_faults(crossed, shape)[0],
      "the stages wait for each other: stage 0 at B0 needs B0 of stage 1, stage 1 at F1 needs "
      "F1 of stage 0");
}

TEST(OrderFaults, HalfPairsAndSlices) {
  PipelineShape shape{1, 1, 1, 1};
  StageOrder order = units("F0 B0");
  order[1].with_next = true;
  EXPECT_EQ(order_faults({order}, shape)[0],
            "stage 0: B0 is half of a pair, allowed: a forward and then a backward");
  shape.slices = 2;
  StageOrder sliced = pipeline_schedule("terapipe").order(shape, Stage{0});
  EXPECT_TRUE(order_faults({sliced}, shape).empty());
  std::swap(sliced[0], sliced[1]);
  EXPECT_EQ(order_faults({sliced}, shape)[0],
            "the stages wait for each other: stage 0 at F0/1 needs F0/0 of stage 0");
}

}  // namespace
}  // namespace stepcast
