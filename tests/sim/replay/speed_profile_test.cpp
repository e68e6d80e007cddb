#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "stepcast/sim/replay/stall_plan.hpp"

namespace stepcast {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Throttling = StallsSpec::Throttling;

SpeedProfile profile_of(const std::vector<Throttling>& throttling) {
  StallsSpec spec;
  spec.throttling = throttling;
  return plan_stalls(spec, Placement(ParallelPlan{}), ClusterSpec{}).profile_of(Rank{0});
}

double factor_by_definition(const std::vector<Throttling>& throttling, double time) {
  double factor = 1;
  for (const Throttling& t : throttling) {
    const double from = t.from.value(), until = t.until.value(), period = t.period.value();
    const double last = period > 0 ? time : from;
    for (double shift = 0; from + shift <= last && from + shift <= time;
         shift += period > 0 ? period : infinity) {
      if (time < until + shift) factor *= t.factor;
    }
  }
  return factor;
}

// Quarters of a second with factors that are powers of two: every sum is exact.
constexpr double step = 0.25;

double end_by_stepping(const std::vector<Throttling>& throttling, double start, double work) {
  for (double now = start;; now += step) {
    const double factor = factor_by_definition(throttling, now);
    if (work * factor <= step) return now + work * factor;
    work -= step / factor;
  }
}

double quarters(int low, int high) { return step * *rc::gen::inRange(low, high); }

std::vector<Throttling> any_throttling() {
  const auto factor = [] { return std::ldexp(1.0, *rc::gen::inRange(-2, 4)); };
  if (*rc::gen::arbitrary<bool>()) {
    const double from = quarters(0, 40), length = quarters(1, 20);
    return {
        {{0}, factor(), Seconds{from}, Seconds{from + length}, Seconds{length + quarters(1, 20)}}};
  }
  std::vector<Throttling> result;
  double from = quarters(0, 20);
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const double until = from + quarters(1, 20);
    result.insert(result.begin(), {{0}, factor(), Seconds{from}, Seconds{until}});
    from = until + quarters(0, 20);
  }
  return result;
}

TEST(SpeedProfile, HoldsAFactorFromItsDateToTheNext) {
  const SpeedProfile p = profile_of({{{0}, 2, Seconds{10}, Seconds{20}}});
  EXPECT_EQ(p.factor_at(0), 1);
  EXPECT_EQ(p.factor_at(10), 2);
  EXPECT_EQ(p.factor_at(20), 1);
  EXPECT_EQ(p.end_of(0, 9), 9);
  EXPECT_EQ(p.end_of(0, 12), 14);   // 10 at full speed, 2 at half
  EXPECT_EQ(p.end_of(12, 10), 26);  // 4 until 20, then 6
  EXPECT_EQ(p.end_of(30, 5), 35);
}

TEST(SpeedProfile, RepeatsFromItsFirstDate) {
  const SpeedProfile p = profile_of({{{0}, 3, Seconds{100}, Seconds{103}, Seconds{4}}});
  EXPECT_EQ(p.factor_at(2), 1);  // before the first one
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(p.factor_at(100 + 4 * k), 3);
    EXPECT_EQ(p.factor_at(103 + 4 * k), 1);
  }
  // A period does 1 + 1 of work.
  EXPECT_EQ(p.end_of(100, 2e6), 100 + 4e6);
  EXPECT_EQ(p.end_of(0, 100 + 2e6 + 1), 100 + 4e6 + 3);
}

// The clock of the run is a double: late enough, its steps are longer than a period.
TEST(SpeedProfile, EndsWherePeriodsAreFinerThanTheClock) {
  const SpeedProfile p = profile_of({{{0}, 3, Seconds{0}, Seconds{1e-6}, Seconds{2e-6}}});
  for (const double start : {1e9, 1e12, 1e15}) {
    const double work = start * 1e-3;  // a period of 2 does 1 + 1/3
    EXPECT_NEAR(p.end_of(start, work), start + work * 1.5, 1e-6 * start);
  }
}

TEST(SpeedProfile, AgreesWithStepping) {
  EXPECT_TRUE(rc::check([] {
    const auto throttling = any_throttling();
    const SpeedProfile p = profile_of(throttling);
    const double start = quarters(0, 400), work = quarters(0, 400);
    RC_ASSERT(p.factor_at(start) == factor_by_definition(throttling, start));
    RC_ASSERT(p.end_of(start, work) == end_by_stepping(throttling, start, work));
  }));
}

TEST(SpeedProfile, WorkAddsUpForAnyNumbers) {
  const auto real = [](double low, double high) {
    return low + (high - low) * (*rc::gen::inRange(0, 1000003)) / 1000003;
  };
  EXPECT_TRUE(rc::check([&] {
    const double from = real(0, 50), length = real(1e-3, 9), period = length + real(1e-3, 9);
    const SpeedProfile p =
        profile_of({{{0}, real(0.1, 7), Seconds{from}, Seconds{from + length}, Seconds{period}}});
    const double start = real(0, 300), a = real(0, 1000), b = real(0, 1000);
    const double whole = p.end_of(start, a + b), halves = p.end_of(p.end_of(start, a), b);
    RC_ASSERT(std::abs(whole - halves) <= 1e-10 * whole);
    RC_ASSERT(p.end_of(start, 0) == start);
  }));
}

}  // namespace
}  // namespace stepcast
