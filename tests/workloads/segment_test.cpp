#include "stepcast/workloads/segment.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "segment_generators.hpp"
#include "segment_reference.hpp"

namespace stepcast {
namespace {

using reference::close;

constexpr double segment_us = 1e-6;

// (max,+) products add the same terms in another order.
bool same(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}
bool same(const SegmentMatrix& a, const SegmentMatrix& b) {
  return same(a.main, b.main) && same(a.worker, b.worker) && same(a.device, b.device) &&
         same(a.main_worker, b.main_worker) && same(a.main_device, b.main_device) &&
         same(a.worker_device, b.worker_device);
}

TEST(Segment, OneOperatorIsItsDefinition) {
  const Segment segment{{{3 * segment_us, 5 * segment_us, 2 * segment_us, 7 * segment_us}}};
  const Clocks after = segment.matrix({}).apply({});
  EXPECT_DOUBLE_EQ(after.main, 3 * segment_us);
  EXPECT_DOUBLE_EQ(after.worker, 8 * segment_us);
  EXPECT_DOUBLE_EQ(after.device, 17 * segment_us);
}

TEST(Segment, EagerWorkerIsTransparent) {
  const Segment segment{{{3 * segment_us, 0, 2 * segment_us, 7 * segment_us},
                         {4 * segment_us, 0, 2 * segment_us, 1 * segment_us}}};
  const Clocks after = segment.matrix({}).apply({10 * segment_us, 0, 0});
  EXPECT_DOUBLE_EQ(after.main, 17 * segment_us);
  EXPECT_DOUBLE_EQ(after.worker, after.main);
  EXPECT_DOUBLE_EQ(after.device, 23 * segment_us);  // 10 + 3 + 2 + 7, then 1 more
}

TEST(Segment, HostBoundAndDeviceBoundStepsFallOut) {
  const std::vector<OperatorCost> host_bound(100,
                                             {10 * segment_us, 0, 1 * segment_us, 4 * segment_us});
  EXPECT_NEAR(Segment{host_bound}.matrix({}).apply({}).device, (100 * 10 + 1 + 4) * segment_us,
              1e-15);
  const std::vector<OperatorCost> device_bound(
      100, {4 * segment_us, 0, 1 * segment_us, 10 * segment_us});
  EXPECT_NEAR(Segment{device_bound}.matrix({}).apply({}).device, (4 + 1 + 100 * 10) * segment_us,
              1e-15);
}

TEST(Segment, EmptySegmentIsTheIdentity) {
  const Clocks clocks{1, 2, 3};
  EXPECT_EQ(Segment{{}}.matrix({}).apply(clocks), clocks);
  EXPECT_EQ(Segment{{}}.matrix({2, 3}).apply(clocks), clocks);
  EXPECT_EQ(Segment{{}}.hull_points(), 0U);
}

TEST(Segment, KeepsFewPathsOfALayer) {
  // Alternating large and small kernels: the paths between the two regimes are never the longest.
  std::vector<OperatorCost> layer;
  for (int i = 0; i < 60; ++i)
    layer.push_back({8 * segment_us, 0, 2 * segment_us, (i % 3 == 0 ? 30 : 4) * segment_us});
  const Segment segment{layer};
  EXPECT_GE(segment.hull_points(), 3U);
  EXPECT_LE(segment.hull_points(), 12U);
}

TEST(SegmentProperty, MatrixEqualsOperatorByOperator) {
  EXPECT_TRUE(rc::check("matrix(speed).apply == issue_operator, one by one", [] {
    const auto operators = generate::operators(60);
    const auto speed = generate::speed();
    const auto clocks = generate::clocks();
    Clocks last = clocks;
    for (const OperatorCost& op : operators) last = issue_operator(last, op, speed);
    RC_ASSERT(close(Segment{operators}.matrix(speed).apply(clocks), last));
  }));
}

TEST(SegmentProperty, CompositionEqualsTheLongerRun) {
  EXPECT_TRUE(rc::check("matrix(a).then(matrix(b)) == matrix(ab)", [] {
    const auto first = generate::operators(30);
    const auto second = generate::operators(30);
    auto both = first;
    both.insert(both.end(), second.begin(), second.end());
    const auto speed = generate::speed();
    RC_ASSERT(same(Segment{first}.matrix(speed).then(Segment{second}.matrix(speed)),
                   Segment{both}.matrix(speed)));
  }));
}

TEST(SegmentProperty, MatricesAreAMonoid) {
  EXPECT_TRUE(rc::check("associative, with a neutral element", [] {
    const auto a = Segment{generate::operators(10)}.matrix(generate::speed());
    const auto b = Segment{generate::operators(10)}.matrix(generate::speed());
    const auto c = Segment{generate::operators(10)}.matrix(generate::speed());
    RC_ASSERT(same(a.then(b).then(c), a.then(b.then(c))));
    RC_ASSERT(same(SegmentMatrix{}.then(a), a));
    RC_ASSERT(same(a.then(SegmentMatrix{}), a));
  }));
}

TEST(HostSync, WaitsForBothThreadsAndTheStream) {
  EXPECT_EQ(host_sync({1, 2, 5}, 0.5), (Clocks{5.5, 2, 5}));
  EXPECT_EQ(host_sync({1, 7, 5}, 0.5), (Clocks{7.5, 7, 5}));
  EXPECT_EQ(host_sync({9, 7, 5}, 0.5), (Clocks{9.5, 7, 5}));
}

}  // namespace
}  // namespace stepcast
