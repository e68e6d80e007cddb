#include "stepcast/scheduler/balanced_slices.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace stepcast {
namespace {

using Lengths = std::vector<std::int64_t>;

/// A slice of l steps behind b steps takes what attention over causal keys and the rest take, and
/// any small amount more, as kernels of odd sizes do.
SliceTimes any_times(int steps) {
  const double attention = *rc::gen::inRange(0, 100) * 0.01, rest = *rc::gen::inRange(0, 100) * 0.1;
  SliceTimes times(static_cast<std::size_t>(steps));
  for (int b = 0; b < steps; ++b)
    for (int l = 1; l <= steps - b; ++l)
      times[static_cast<std::size_t>(b)].push_back(attention * l * (2 * b + l) + rest * l +
                                                   *rc::gen::inRange(0, 10) * 0.1);
  return times;
}

/// Every way to cut `steps` into `slices`.
void each_cut(std::int64_t steps, std::int64_t slices, Lengths& before,
              const std::function<void(const Lengths&)>& visit) {
  if (slices == 1) {
    before.push_back(steps);
    visit(before);
    before.pop_back();
    return;
  }
  for (std::int64_t length = 1; length <= steps - slices + 1; ++length) {
    before.push_back(length);
    each_cut(steps - length, slices - 1, before, visit);
    before.pop_back();
  }
}

/// A unit starts when its stage is free and the stage before has done it.
double forwards_one_by_one(const Lengths& lengths, const SliceTimes& times, int micro_batches,
                           int stages) {
  std::vector<double> free(static_cast<std::size_t>(stages));
  for (int m = 0; m < micro_batches; ++m) {
    std::size_t first = 0;
    for (const std::int64_t length : lengths) {
      const double time = times[first][static_cast<std::size_t>(length - 1)];
      double ready = 0;
      for (double& stage : free) ready = stage = std::max(stage, ready) + time;
      first += static_cast<std::size_t>(length);
    }
  }
  return free.back();
}

TEST(BalancedSlices, NoOtherCutIsShorter) {
  EXPECT_TRUE(rc::check([] {
    const int steps = *rc::gen::inRange(1, 10);
    const std::int64_t slices = *rc::gen::inRange(1, steps + 1);
    const double micro_batches = *rc::gen::inRange(1, 9), fill = *rc::gen::inRange(0, 16);
    const SliceTimes times = any_times(steps);
    double least = std::numeric_limits<double>::infinity();
    Lengths cut;
    each_cut(steps, slices, cut, [&](const Lengths& lengths) {
      least = std::min(least, sliced_pipeline_time(lengths, times, micro_batches, fill));
    });
    const Lengths chosen = balanced_slices(times, slices, micro_batches, fill);
    RC_ASSERT(std::ssize(chosen) == slices);
    RC_ASSERT(std::ranges::min(chosen) >= 1);
    RC_ASSERT(sliced_pipeline_time(chosen, times, micro_batches, fill) <= least * (1 + 1e-12));
  }));
}

TEST(BalancedSlices, TheObjectiveIsTheTimeOfTheForwards) {
  EXPECT_TRUE(rc::check([] {
    const int slices = *rc::gen::inRange(1, 6), stages = *rc::gen::inRange(1, 9);
    const int micro_batches = *rc::gen::inRange(1, 6);
    Lengths lengths;
    for (int k = 0; k < slices; ++k) lengths.push_back(*rc::gen::inRange(1, 4));
    std::int64_t steps = 0;
    for (const std::int64_t length : lengths) steps += length;
    const SliceTimes times = any_times(static_cast<int>(steps));
    const double time = forwards_one_by_one(lengths, times, micro_batches, stages);
    RC_ASSERT(
        std::abs(sliced_pipeline_time(lengths, times, micro_batches, pipeline_fill(stages, 1)) -
                 time) <= 1e-9 * time);
  }));
}

// With attention alone a slice behind b of S takes (b + l)^2 - b^2, all together S^2: the longest
// of n takes S^2 / n where slices end at S sqrt(k / n), and on the grid up to a step more.
TEST(BalancedSlices, AttentionAloneGivesEqualAreas) {
  constexpr std::int64_t steps = 64;
  SliceTimes times(steps);
  for (std::int64_t b = 0; b < steps; ++b)
    for (std::int64_t l = 1; l <= steps - b; ++l)
      times[static_cast<std::size_t>(b)].push_back(static_cast<double>(l * (2 * b + l)));
  const Lengths chosen = balanced_slices(times, 4, 1, 7);
  double end = 0;
  for (int k = 1; k <= 4; ++k) {
    end += static_cast<double>(chosen[static_cast<std::size_t>(k - 1)]);
    EXPECT_NEAR(end, steps * std::sqrt(k / 4.0), 1);
  }
}

TEST(BalancedSlices, FillAsManyStagesAsStandBeforeTheLastAndChunksShortenThat) {
  EXPECT_EQ(pipeline_fill(1, 3), 0);
  EXPECT_EQ(pipeline_fill(8, 1), 7);
  EXPECT_EQ(pipeline_fill(8, 2), 3.5);
}

}  // namespace
}  // namespace stepcast
