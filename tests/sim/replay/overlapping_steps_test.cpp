#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "pipelines.hpp"
#include "scheduler/shapes.hpp"

namespace stepcast {
namespace {

using testing::PipelineCase;
using testing::run_pipeline;
using P2p = ScheduleSpec::PointToPoint;

/// Repeats the orders of a pipeline step after step, unit by unit: the reference of the replay.
class RepeatedSteps {
 public:
  RepeatedSteps(const PipelineCase& c, std::vector<StageOrder> orders)
      : case_{c}, orders_{std::move(orders)}, ends_(static_cast<std::size_t>(c.steps)) {
    const std::size_t stages = orders_.size();
    clock_.resize(stages);
    step_.resize(stages);
    place_.resize(stages);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t s = 0; s < stages; ++s)
        while (advance(Stage{s})) moved = true;
    }
  }

  /// When the last stage ends each step.
  const std::vector<double>& ends() const { return ends_; }
  double last_interval() const { return ends_.back() - ends_[ends_.size() - 2]; }

 private:
  using Key = std::tuple<std::int64_t, bool, std::int64_t, std::int64_t, std::int64_t>;

  Key key(std::int64_t step, const Unit& unit, Chunk chunk) const {
    return {step, unit.kind == UnitKind::forward, unit.micro_batch.value, chunk.value,
            unit.slice.value};
  }
  double cost(const Unit& unit) const {
    const double f = case_.costs.forward.value(), b = case_.costs.backward_input.value(),
                 w = case_.costs.backward_weight.value();
    switch (unit.kind) {
      case UnitKind::forward:
        return f;
      case UnitKind::backward:
        return b + w;
      case UnitKind::backward_input:
        return b;
      case UnitKind::backward_weight:
        return w;
    }
    return 0;
  }

  /// The next unit, or pair, of a stage; false when it is done or an input is not there yet.
  bool advance(Stage stage) {
    const std::size_t s = stage.value;
    if (step_[s] == case_.steps) return false;
    const StageOrder& order = orders_[s];
    const Unit* units = &order[place_[s]];
    const std::size_t count = units->with_next ? 2 : 1;
    double start = clock_[s];
    for (std::size_t i = 0; i < count; ++i) {
      const auto source = source_of(case_.shape, units[i], stage);
      if (!source || source->stage == stage) continue;
      const auto found = arrivals_.find({s, key(step_[s], units[i], units[i].chunk)});
      if (found == arrivals_.end()) return false;
      start = std::max(start, found->second);
    }
    double end = start;
    for (std::size_t i = 0; i < count; ++i) end += cost(units[i]);
    clock_[s] = end;
    for (std::size_t i = 0; i < count; ++i) {
      const auto reader = reader_of(case_.shape, units[i], stage);
      if (!reader || reader->stage == stage) continue;
      arrivals_[{reader->stage.value, key(step_[s], units[i], reader->chunk)}] =
          end + case_.latency;
      if (case_.p2p == P2p::blocking) clock_[s] = end + case_.latency;
    }
    place_[s] += count;
    if (place_[s] == order.size()) {
      double& last = ends_[static_cast<std::size_t>(step_[s])];
      last = std::max(last, clock_[s]);
      ++step_[s];
      place_[s] = 0;
    }
    return true;
  }

  const PipelineCase& case_;
  std::vector<StageOrder> orders_;
  std::vector<double> ends_, clock_;
  std::vector<std::int64_t> step_;
  std::vector<std::size_t> place_;
  std::map<std::pair<std::size_t, Key>, double> arrivals_;
};

RepeatedSteps repeated(const PipelineCase& c) {
  const PipelineSchedule& schedule = pipeline_schedule(c.schedule);
  return {c, c.exchanging ? exchanging_orders(schedule, c.shape) : stage_orders(schedule, c.shape)};
}

SyntheticChunk any_costs() {
  const auto cost = [] { return Seconds{*rc::gen::inRange(1, 40) * 0.1}; };
  return {cost(), cost(), cost()};
}

// The parallelogram of ZB-H2: a step begins on each stage when the one before ends there.
TEST(OverlappingSteps, EqualPartsLeaveNoBubble) {
  for (std::int64_t p = 2; p <= 8; ++p)
    for (std::int64_t m = 2 * p - 1; m <= 4 * p; ++m) {
      PipelineCase c{"zb_h2", {p, 1, m, p}};
      EXPECT_NEAR(run_pipeline(c).step_time.value(), static_cast<double>(3 * m + p - 1), 1e-9);
      c.steps = 2;
      const Timeline t = run_pipeline(c);
      EXPECT_NEAR(t.step_time.value(), static_cast<double>(3 * m), 1e-9) << p << " " << m;
      for (const RankTimes& rank : t.classes) EXPECT_NEAR(rank.bubble.value(), 0, 1e-9);
    }
}

// k weight gradients per stage fill the round trip to the first gradient.
TEST(OverlappingSteps, PuttingOffFillsTheRoundTrip) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t p = *rc::gen::inRange(2, 9), k = *rc::gen::inRange(2, 5);
    const auto hops = static_cast<double>(p - 1), waiting = static_cast<double>(k);
    const double w = *rc::gen::inRange(1, 20) * 0.1;
    const double f = (waiting - 1) * w + *rc::gen::inRange(0, 20) * 0.1;
    const double b = w + *rc::gen::inRange(0, 20) * 0.1;
    PipelineCase c{"zb_h2", {p, 1, (k + 3) * p, p}, {Seconds{f}, Seconds{b}, Seconds{w}}};
    c.latency = *rc::gen::inRange(0, 3) * 0.05;
    c.shape.put_off = k;
    c.steps = 2;
    const double work = static_cast<double>(c.shape.micro_batches) * (f + b + w);
    const double idle = hops * (f + b + 2 * c.latency - waiting * w);
    RC_ASSERT(std::abs(run_pipeline(c).step_time.value() - work - idle) <= 1e-9 * work);
  }));
}

TEST(OverlappingSteps, EverySchedulesStepsAreThoseOfTheReference) {
  EXPECT_TRUE(rc::check([] {
    const PipelineSchedule& schedule = *rc::gen::elementOf(pipeline_schedules());
    RC_PRE(!schedule.pairs);
    PipelineCase c{std::string(schedule.name), testing::any_shape(schedule), any_costs()};
    RC_LOG() << testing::label(schedule, c.shape);
    c.shape.put_off = *rc::gen::inRange(0, 6);
    c.latency = *rc::gen::inRange(0, 20) * 0.05;
    c.p2p = *rc::gen::element(P2p::overlapped, P2p::blocking);
    c.exchanging = c.p2p == P2p::blocking && exchanges(schedule, c.shape);
    c.steps = *rc::gen::inRange(1, 5);
    const Timeline t = run_pipeline(c);
    const RepeatedSteps reference = repeated(c);
    double before = 0;
    for (std::size_t k = 0; k < reference.ends().size(); ++k) {
      RC_ASSERT(std::abs(t.steps[k].value() - (reference.ends()[k] - before)) <=
                1e-9 * reference.ends().back());
      before = reference.ends()[k];
    }
  }));
}

// The second step is the steady one, unless much is put off in few micro-batches.
TEST(OverlappingSteps, TheSecondStepIsAsLongAsTheTenth) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t p = *rc::gen::inRange(2, 9), k = *rc::gen::inRange(0, 5);
    PipelineCase c{*rc::gen::element<std::string>("1f1b", "zb_h1", "zb_h2"),
                   {p, 1, *rc::gen::inRange((k + 2) * p, (k + 6) * p), p},
                   any_costs()};
    c.latency = *rc::gen::inRange(0, 20) * 0.02;
    c.shape.put_off = k;
    c.steps = 10;
    const double steady = repeated(c).last_interval();
    c.steps = 2;
    RC_ASSERT(std::abs(run_pipeline(c).step_time.value() - steady) <= 1e-9 * steady);
  }));
}

// With one exchange per forward and backward a micro-batch pays one latency per chunk, with one per
// unit two.
TEST(OverlappingSteps, AnExchangePerPairHalvesWhatBlockingCosts) {
  const auto slope = [](PipelineCase c, bool exchanging) {
    c.p2p = P2p::blocking;
    c.latency = 0.1;
    c.exchanging = exchanging;
    const double shorter = run_pipeline(c).step_time.value();
    c.shape.micro_batches *= 2;
    return (run_pipeline(c).step_time.value() - shorter) /
           static_cast<double>(c.shape.micro_batches / 2);
  };
  for (const std::int64_t v : {2, 3}) {
    const PipelineCase c{"interleaved_1f1b", {4, v, 256, 4}};
    EXPECT_NEAR(slope(c, true), static_cast<double>(v) * 3.1, 1e-9);
    EXPECT_NEAR(slope(c, false), static_cast<double>(v) * 3.2, 1e-9);
  }
}

}  // namespace
}  // namespace stepcast
