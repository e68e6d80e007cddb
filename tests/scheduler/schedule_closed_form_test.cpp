#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "shapes.hpp"
#include "stepcast/scheduler/order_times.hpp"

// The bubble and peak of docs/models/pipeline.md, each over the shapes for which it is exact.
namespace stepcast {
namespace {

using testing::any_shape;
using testing::label;

UnitCosts costs_of(double f, double b, double w) { return {Seconds{f}, Seconds{b}, Seconds{w}}; }

OrderTimes times_of(const PipelineSchedule& schedule, const PipelineShape& shape,
                    const UnitCosts& costs) {
  return time_orders(stage_orders(schedule, shape), shape, costs);
}

/// Units of the shortest and of the first cycle of the seqpipe family.
std::pair<std::int64_t, std::int64_t> cycles(const PipelineSchedule& schedule,
                                             const PipelineShape& shape) {
  const std::int64_t m = shape.micro_batches;
  const std::int64_t base = schedule.name == "seqpipe" ? shape.stages : shape.stages / shape.slices;
  if (m < base) return {m, m};
  const std::int64_t count = m / base, rest = m % base;
  return {base + rest / count, base + (rest + count - 1) / count};
}

bool bubble_is_exact(const PipelineSchedule& schedule, const PipelineShape& shape) {
  if (!schedule.name.starts_with("seq") || shape.chunks == 1) return true;
  return cycles(schedule, shape).first * shape.slices >= shape.stages;
}

// Every schedule with whole backwards idles (p-1)(f+b+w) per stage.
TEST(ScheduleClosedForm, BubbleOfWholeBackwards) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    if (schedule.splits_backward) continue;
    EXPECT_TRUE(rc::check(std::string(schedule.name), [&] {
      const PipelineShape shape = any_shape(schedule);
      RC_LOG() << label(schedule, shape);
      RC_PRE(bubble_is_exact(schedule, shape));
      const UnitCosts costs =
          *rc::gen::element(costs_of(1, 1, 1), costs_of(1, 1.2, 0.8), costs_of(1, 0.7, 1.3),
                            costs_of(1.5, 1, 1), costs_of(2, 2, 2));
      const double unit = costs.whole_pair().value();
      const OrderTimes times = times_of(schedule, shape, costs);
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        const double idle = times.idle(Stage{s}).value();
        const double expected = unit * static_cast<double>(shape.stages - 1);
        RC_ASSERT(std::abs(idle - expected) <= 1e-9 * times.makespan.value());
      }
    }));
  }
}

/// Most activations on a stage; for v_half and v_min on any stage. Nothing where no form is known.
std::optional<std::int64_t> peak(const PipelineSchedule& schedule, const PipelineShape& shape,
                                 std::int64_t stage) {
  const std::int64_t p = shape.stages, m = shape.micro_batches, v = shape.chunks, s = shape.slices,
                     below = p - 1 - stage, all = m * v * s;
  const std::string_view name = schedule.name;
  if (name == "gpipe" || name == "terapipe") return all;
  if (name == "1f1b") return std::min(m, p - stage);
  if (name == "interleaved_1f1b") {
    const bool less = shape.warm_up.kind == WarmUp::Kind::less_memory;
    const std::int64_t warm_up = (v - 1) * shape.group + (less ? 1 : 2) * below;
    return std::min(all, warm_up + shape.warm_up.extra + 1);
  }
  if (name.starts_with("seq")) {
    const std::int64_t bias = name == "seqsmartvpp" || v == 1 ? 1 : 2;
    return std::min(all, (v - 1) * cycles(schedule, shape).second * s + bias * below + s);
  }
  if (name == "zb_h1") return std::min(m, p);
  if (name == "zb_h2") return m >= 2 * p - 1 ? std::optional{2 * p - 1} : std::nullopt;
  if (name == "zb_v") return 2 * p;
  if (name == "v_half" && m >= p && p > 1) return 2 * (p / 2) + 2;
  if (name == "dualpipe") return p + 1;
  if (name == "dualpipe_v") return 2 * p + 1;
  return {};
}

TEST(ScheduleClosedForm, PeakInFlight) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    EXPECT_TRUE(rc::check(std::string(schedule.name), [&] {
      const PipelineShape shape = any_shape(schedule);
      RC_LOG() << label(schedule, shape);
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        const auto expected = peak(schedule, shape, s);
        if (expected) RC_ASSERT(peak_in_flight(schedule.order(shape, Stage{s})) == *expected);
      }
    }));
  }
}

/// Calls body(p, m) for p in 1..10 and m from `least` of p on.
template <class Body>
void for_each_size(std::int64_t step, std::int64_t (*least)(std::int64_t), Body body) {
  for (std::int64_t p = step; p <= 10; p += step)
    for (std::int64_t m = least(p); m <= 4 * p; m += step) body(p, m);
}

PipelineShape shape_of(const PipelineSchedule& schedule, std::int64_t p, std::int64_t m) {
  PipelineShape shape{p, schedule.chunks.low, m, p};
  shape.placement = schedule.placement;
  return shape;
}

/// Most that a stage idles between its first and its last unit.
double most_idle_inside(const OrderTimes& times) {
  double most = 0;
  for (std::uint32_t s = 0; s < times.units.size(); ++s)
    most = std::max(most, times.idle_inside(Stage{s}).value());
  return most;
}

TEST(ScheduleClosedForm, ZeroBubbleIdlesBetweenFirstAndLastUnit) {
  const PipelineSchedule &h1 = pipeline_schedule("zb_h1"), &h2 = pipeline_schedule("zb_h2");
  const double vectors[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 1.2, 0.8}, {1, 0.7, 1.3}, {1.5, 1, 1}};
  for (const auto& [f, b, w] : vectors) {
    const UnitCosts costs = costs_of(f, b, w);
    for_each_size(
        1, [](std::int64_t p) { return p; },
        [&](std::int64_t p, std::int64_t m) {
          const double hops = static_cast<double>(p - 1);
          EXPECT_NEAR(most_idle_inside(times_of(h1, shape_of(h1, p, m), costs)),
                      hops * (b + std::max(f - w, 0.0)), 1e-9)
              << "h1 p" << p << " m" << m << " w " << w;
          if (m < 2 * p - 1) return;
          EXPECT_NEAR(most_idle_inside(times_of(h2, shape_of(h2, p, m), costs)),
                      hops * std::max(0.0, f + b - 2 * w), 1e-9)
              << "h2 p" << p << " m" << m << " w " << w;
        });
  }
}

std::int64_t twice(std::int64_t p) { return 2 * p; }

// f = b = w: no stage waits between its first and its last unit.
TEST(ScheduleClosedForm, ZeroBubbleVNeverWaits) {
  const PipelineSchedule& schedule = pipeline_schedule("zb_v");
  for_each_size(1, twice, [&](std::int64_t p, std::int64_t m) {
    const OrderTimes times = times_of(schedule, shape_of(schedule, p, m), {});
    EXPECT_DOUBLE_EQ(times.makespan.value(), static_cast<double>(6 * m + p - 1));
    EXPECT_DOUBLE_EQ(most_idle_inside(times), 0) << "p" << p << " m" << m;
  });
}

// f = b = w: the makespans that the published planner reaches, and its peaks.
TEST(ScheduleClosedForm, HalfAndMinimalMemory) {
  const PipelineSchedule &half = pipeline_schedule("v_half"), &min = pipeline_schedule("v_min");
  for_each_size(1, twice, [&](std::int64_t p, std::int64_t m) {
    if (p == 1) return;
    const auto check = [&](const PipelineSchedule& schedule, std::int64_t idle, int held) {
      const OrderTimes times = times_of(schedule, shape_of(schedule, p, m), {});
      const std::string what =
          std::string(schedule.name) + " p" + std::to_string(p) + " m" + std::to_string(m);
      EXPECT_DOUBLE_EQ(times.makespan.value(), static_cast<double>(6 * m + idle)) << what;
      EXPECT_EQ(*std::ranges::max_element(times.peak_in_flight), held) << what;
    };
    const std::int64_t half_idle = p == 2 ? 1 : 3 * p - (p % 2 == 0 ? 7 : 4);
    check(half, half_idle, static_cast<int>(2 * (p / 2) + 2));
    check(min, 4 * p - (p % 3 == 0 ? 7 : 5), static_cast<int>(2 * ((p + 1) / 3) + 2));
  });
}

// f = b = w and pairs that gain nothing; published as (p/2-1) or (p-1) times F&B + B - 3W.
TEST(ScheduleClosedForm, DualPipes) {
  const PipelineSchedule &two = pipeline_schedule("dualpipe"), &v = pipeline_schedule("dualpipe_v");
  const auto check = [](const PipelineSchedule& schedule, std::int64_t p, std::int64_t m,
                        std::int64_t hops) {
    const OrderTimes times = times_of(schedule, shape_of(schedule, p, m), {});
    for (std::uint32_t s = 0; s < p; ++s)
      EXPECT_DOUBLE_EQ(times.idle(Stage{s}).value(), static_cast<double>(2 * hops))
          << schedule.name << " p" << p << " m" << m;
  };
  for_each_size(2, twice, [&](auto p, auto m) { check(two, p, m, p / 2 - 1); });
  for_each_size(1, twice, [&](auto p, auto m) { check(v, p, m, p - 1); });
}

/// Extra makespan by a latency of 0.001 with f = b = w = 1, in units of that latency.
double latency_steps(const PipelineSchedule& schedule, const PipelineShape& shape) {
  UnitCosts far;
  far.latency = Seconds{0.001};
  const double extra =
      (times_of(schedule, shape, far).makespan - times_of(schedule, shape, {}).makespan).value();
  return extra / 0.001;
}

TEST(ScheduleClosedForm, Latency) {
  for (std::int64_t p = 2; p <= 8; p += 2) {
    for (std::int64_t m = 2 * p; m <= 6 * p; m += p) {
      const auto expect = [&](const char* name, std::int64_t v, WarmUp::Kind warm_up,
                              std::int64_t steps) {
        const PipelineSchedule& schedule = pipeline_schedule(name);
        PipelineShape shape = shape_of(schedule, p, m);
        shape.chunks = v;
        shape.warm_up.kind = warm_up;
        EXPECT_NEAR(latency_steps(schedule, shape), static_cast<double>(steps), 1e-6)
            << name << " p" << p << " v" << v << " m" << m;
      };
      using enum WarmUp::Kind;
      expect("gpipe", 1, standard, 2 * (p - 1));
      expect("1f1b", 1, standard, 2 * (p - 1) * m / p + 2 * (p - 2));
      for (std::int64_t v = 2; v <= 4; ++v)
        expect("interleaved_1f1b", v, standard, 2 * (v * p - 1));
      expect("interleaved_1f1b", 2, less_memory, 4 * (p - 1) * m / p + 2 * (p - 1));
      expect("dualpipe_v", 2, standard, 2 * (p - 1) * m / p + 2 * (p - 2));
    }
  }
}

}  // namespace
}  // namespace stepcast
