#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "segment_generators.hpp"
#include "segment_reference.hpp"
#include "stepcast/workloads/host_queue.hpp"

namespace stepcast {
namespace {

constexpr double micro = 1e-6;
constexpr std::uint64_t deep = 4096;  ///< more operators than a test issues

OperatorCost compiled(double main, double compile, double device) {
  return {.main = (main + compile) * micro, .device = device * micro, .compile = compile * micro};
}

/// How long the device waits for compiling in these operators.
double stall_of(const std::vector<OperatorCost>& operators, std::uint64_t depth = deep) {
  HostQueue queue{depth};
  queue.follow_compiling();
  queue.run({}, Segment{operators}, {});
  return queue.compile_stall();
}

TEST(CompileLag, AllOfItShowsWhereTheHostIsLateAnyway) {
  EXPECT_NEAR(stall_of(std::vector<OperatorCost>(4, compiled(10, 5, 1))), 4 * 5 * micro, 1e-15);
  // A blocking host shows all it does, too.
  EXPECT_NEAR(stall_of(std::vector<OperatorCost>(4, compiled(10, 5, 100)), 1), 4 * 5 * micro,
              1e-15);
}

// The second operator is compiled until 20 us plus that; the first one keeps the device until 110.
TEST(CompileLag, WhatTheDeviceIsBusyMeanwhileIsHidden) {
  const auto stall = [](double compile) {
    return stall_of({compiled(10, 0, 100), compiled(10, compile, 100), compiled(10, 0, 100)});
  };
  EXPECT_EQ(stall(80), 0);
  EXPECT_NEAR(stall(150), (20 + 150 - 110) * micro, 1e-15);
  // What the device waited for once it does not wait for again.
  EXPECT_NEAR(stall_of({compiled(10, 50, 1), compiled(10, 0, 1), compiled(10, 0, 1)}), 50 * micro,
              1e-15);
}

// Of 100 us 30 are hidden by the first operator. The host waits for the device before the third:
// what it compiled before makes no difference behind that.
TEST(CompileLag, WaitingForTheDeviceTakesItUp) {
  HostQueue queue{deep};
  queue.follow_compiling();
  Clocks clocks = queue.run({}, Segment{{compiled(10, 0, 40), compiled(10, 100, 10)}}, {});
  EXPECT_NEAR(queue.compile_stall(), 70 * micro, 1e-15);
  EXPECT_NEAR(queue.compile_lag().main, 30 * micro, 1e-15);
  queue.compile_lag().synchronise(clocks);
  clocks = host_sync(clocks, 5 * micro);
  EXPECT_EQ(queue.compile_lag().main, 0);
  queue.run(clocks, Segment{{compiled(10, 0, 1)}}, {});
  EXPECT_EQ(queue.compile_stall(), 0);
}

// Without compiling the second thread would have had the operator at 10 us.
TEST(CompileLag, TheSecondThreadIsHeldUpToo) {
  const std::vector<OperatorCost> one{
      {.main = 30 * micro, .worker = 8 * micro, .device = micro, .compile = 20 * micro}};
  EXPECT_NEAR(stall_of(one), 20 * micro, 1e-15);
  CompileLag lag;
  EXPECT_NEAR(lag.issue_communication({0, 25 * micro, 0}, one.front(), 1), 5 * micro, 1e-15);
  EXPECT_NEAR(lag.main, 20 * micro, 1e-15);
}

/// Random operators of which some are compiled for.
std::vector<OperatorCost> some_compiled() {
  std::vector<OperatorCost> operators = generate::operators(60);
  for (OperatorCost& op : operators) {
    op.compile = *rc::gen::inRange(0, 3) == 0 ? generate::microseconds(60) : 0;
    op.main += op.compile;
  }
  return operators;
}

std::vector<OperatorCost> with_compiling(std::vector<OperatorCost> operators, double factor) {
  for (OperatorCost& op : operators) {
    op.main += (factor - 1) * op.compile;
    op.compile *= factor;
  }
  return operators;
}

/// The end on the device of the operators in two segments, and how long it waited for compiling.
std::pair<double, double> end_and_stall(const std::vector<OperatorCost>& operators,
                                        const SpeedFactors& speed) {
  const auto middle = operators.begin() + static_cast<std::ptrdiff_t>(operators.size() / 2);
  const Segment first{{operators.begin(), middle}}, second{{middle, operators.end()}};
  HostQueue queue{deep};
  queue.follow_compiling();
  const Clocks between = queue.run({}, first, speed);
  const double stall = queue.compile_stall();
  return {queue.run(between, second, speed).device, stall + queue.compile_stall()};
}

TEST(CompileLagProperty, OfARankByItselfIsWhatItsStepTakesLonger) {
  double shown = 0;
  EXPECT_TRUE(rc::check("stall == end with compiling - end without, and rises with it", [&] {
    const auto operators = some_compiled();
    const SpeedFactors speed = generate::speed();
    const auto [without, none] = end_and_stall(with_compiling(operators, 0), speed);
    const auto [end, stall] = end_and_stall(operators, speed);
    const auto [later, more] = end_and_stall(with_compiling(operators, 2), speed);
    RC_ASSERT(none == 0);
    RC_ASSERT(std::abs(end - without - stall) <= 1e-12 * end);
    RC_ASSERT(std::abs(later - without - more) <= 1e-12 * later);
    RC_ASSERT(more >= stall - 1e-12 * later);
    shown += stall;
  }));
  EXPECT_GT(shown, 0);
}

// Whatever moves the clocks in between, and however deep the queue is.
TEST(CompileLagProperty, IsPartOfTheStallAndCountsOnce) {
  EXPECT_TRUE(rc::check("0 <= stall <= wait of the device, sum <= what was compiled", [] {
    const std::uint64_t depth = *rc::gen::element<std::uint64_t>(1, 3, 16, 64, deep);
    const SpeedFactors speed = generate::speed();
    HostQueue queue{depth};
    queue.follow_compiling();
    reference::PlainQueue plain{depth};
    Clocks clocks, by_operators;
    double sum = 0, compiling = 0;
    for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
      const Segment segment{some_compiled()};
      const double jump = generate::microseconds(300);
      const int what = *rc::gen::inRange(0, 4);
      if (what == 0) clocks.device += jump;
      if (what == 1) {
        queue.compile_lag().synchronise(clocks);
        clocks = host_sync(clocks, jump);
      }
      if (what == 2) {
        queue.compile_lag().wait(clocks.main, clocks.main + jump);
        clocks.main += jump;
      }
      by_operators = plain.run(clocks, segment.operators(), speed);
      const double before = clocks.device;
      clocks = queue.run(clocks, segment, speed);
      RC_ASSERT(reference::close(clocks, by_operators));
      const double wait = clocks.device - before - speed.device * segment.device_time();
      RC_ASSERT(queue.compile_stall() >= 0);
      RC_ASSERT(queue.compile_stall() <= wait + 1e-12 * clocks.device);
      sum += queue.compile_stall();
      for (const OperatorCost& op : segment.operators()) compiling += speed.host * op.compile;
      RC_ASSERT(sum <= compiling * (1 + 1e-12) + 1e-15);
    }
  }));
}

}  // namespace
}  // namespace stepcast
