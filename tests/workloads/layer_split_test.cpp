#include "stepcast/workloads/layer_split.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace stepcast {
namespace {

/// What a split has to gain (docs/models/operators.md).
constexpr double least_gain = 0.015;

LayerTimes alike(std::size_t layers, double after) {
  LayerTimes times;
  for (std::size_t i = 1; i <= layers; ++i) times.prefix.push_back(static_cast<double>(i));
  times.after = after;
  return times;
}

/// The host takes that much of each layer, and of embedding and head.
LayerTimes with_host(LayerTimes times, double each, double ends) {
  times.host.prefix.clear();
  for (std::size_t i = 0; i < times.prefix.size(); ++i)
    times.host.prefix.push_back(each * static_cast<double>(i));
  times.host.before = times.host.after = ends;
  return times;
}

std::vector<std::size_t> counts(const std::vector<std::size_t>& ends) {
  std::vector<std::size_t> result(ends.size());
  std::adjacent_difference(ends.begin(), ends.end(), result.begin());
  return result;
}

constexpr ChunkMap loop(std::int64_t stages, std::int64_t chunks) {
  return {ChunkPlacement::loop, stages, chunks};
}

using Split = std::vector<std::size_t>;

TEST(LayerSplit, AHeavyHeadGivesLayersAway) {
  EXPECT_EQ(counts(balanced_ends(alike(32, 2.5), loop(8, 1))), (Split{5, 5, 4, 4, 4, 4, 4, 2}));
  EXPECT_EQ(counts(balanced_ends(alike(32, 1), loop(8, 1))), Split(8, 4)) << "nothing is gained";
}

// What the head takes of the device is hidden as long as the host takes more of the stage, and
// layers weigh against it as much as the slower of the two has with them.
TEST(LayerSplit, OfASlowHostBalancesTheHost) {
  const LayerTimes heavy = alike(32, 2.5);
  EXPECT_EQ(balanced_ends(with_host(heavy, 2, 0), loop(8, 1)), even_ends(32, 8));
  EXPECT_EQ(balanced_ends(with_host(heavy, 0.5, 0.1), loop(8, 1)),
            balanced_ends(heavy, loop(8, 1)));
  // a layer less takes the last stage from 6.5 to 5.5, one more another from 5.2 to 6.5
  EXPECT_EQ(balanced_ends(with_host(heavy, 1.3, 0), loop(8, 1)), even_ends(32, 8));
  // the host of the last stage has 4 x 2 and the head's 3
  const Split given = counts(balanced_ends(with_host(alike(32, 0), 2, 3), loop(8, 1)));
  EXPECT_LT(given.back(), 4U);
}

// Virtual stages of one or two layers: balanced by themselves, devices would hold four to six.
TEST(LayerSplit, DevicesAreBalancedAndNotVirtualStages) {
  EXPECT_EQ(balanced_ends(alike(40, 0.6), loop(8, 4)), even_ends(40, 32));
}

// Two chunks that take turns make up for each other: stage 0 has the head in the V.
TEST(LayerSplit, TheLossOfAVIsOnStageZero) {
  const ChunkMap map{ChunkPlacement::v_shape, 4, 2};
  const auto ends = balanced_ends(alike(32, 4), map);
  EXPECT_LT(split_load(alike(32, 4), map, ends).device, 10.0);
  const Split layers = counts(ends);
  EXPECT_LT(layers[0] + layers[7], 8U);
}

TEST(LayerSplit, LoadsOfASplitAreSums) {
  const LayerTimes times = alike(10, 3);
  const SplitLoad load = split_load(times, loop(2, 2), {3, 6, 8, 10});
  EXPECT_DOUBLE_EQ(load.device, 8.0);      // 3 + 2 + head
  EXPECT_DOUBLE_EQ(load.period, 3 + 5.0);  // chunk 0, and the head's part of chunk 1
  const SplitLoad turns = split_load(times, {ChunkPlacement::v_shape, 2, 2}, {3, 6, 8, 10});
  EXPECT_DOUBLE_EQ(turns.device, 8.0);  // stage 0 has the first and the last part
  EXPECT_DOUBLE_EQ(turns.period, 8.0);
}

/// Every composition of the layers, at least one each.
void compositions(std::size_t layers, std::size_t parts, Split& ends,
                  const std::function<void(const Split&)>& visit) {
  if (ends.size() + 1 == parts) {
    ends.push_back(layers);
    visit(ends);
    ends.pop_back();
    return;
  }
  const std::size_t first = ends.empty() ? 0 : ends.back(), rest = parts - ends.size() - 1;
  for (std::size_t end = first + 1; end + rest <= layers; ++end) {
    ends.push_back(end);
    compositions(layers, parts, ends, visit);
    ends.pop_back();
  }
}

LayerTimes drawn(std::size_t layers) {
  LayerTimes times;
  const std::size_t dense = *rc::gen::inRange<std::size_t>(0, 3);
  const double other = *rc::gen::element(1.0, 1.6, 2.3);
  for (std::size_t i = 0; i < layers; ++i)
    times.prefix.push_back(times.prefix.back() + (i < dense ? other : 1));
  times.before = *rc::gen::element(0.0, 0.1, 0.7);
  times.after = *rc::gen::element(0.0, 0.4, 1.3, 2.9, 6.0);
  if (*rc::gen::inRange(0, 2) == 0) return times;
  return with_host(times, *rc::gen::element(0.5, 0.9, 1.4, 3.0), *rc::gen::element(0.0, 0.2, 1.0));
}

TEST(LayerSplit, OfOneChunkIsTheBestOfAll) {
  EXPECT_TRUE(rc::check([] {
    const auto stages = *rc::gen::inRange<std::int64_t>(1, 5);
    const auto layers = *rc::gen::inRange<std::size_t>(static_cast<std::size_t>(stages), 13);
    LayerTimes times = alike(layers, *rc::gen::element(0.0, 0.4, 1.3, 2.9, 6.0));
    times.before = *rc::gen::element(0.0, 0.1, 0.7);
    if (*rc::gen::inRange(0, 2) > 0)
      times =
          with_host(times, *rc::gen::element(0.5, 0.9, 1.4, 3.0), *rc::gen::element(0.0, 0.2, 1.0));
    double best = std::numeric_limits<double>::infinity();
    Split ends;
    compositions(layers, static_cast<std::size_t>(stages), ends, [&](const Split& split) {
      best = std::min(best, split_load(times, loop(stages, 1), split).device);
    });
    const auto chosen = balanced_ends(times, loop(stages, 1));
    RC_ASSERT(split_load(times, loop(stages, 1), chosen).device <=
              best / (1 - least_gain) * (1 + 1e-12));
  }));
}

TEST(LayerSplit, IsNeverHeavierThanEven) {
  EXPECT_TRUE(rc::check([] {
    const auto placement = *rc::gen::element(ChunkPlacement::loop, ChunkPlacement::v_shape,
                                             ChunkPlacement::bidirectional);
    const std::int64_t stages = 2 * *rc::gen::inRange<std::int64_t>(1, 4);
    const ChunkMap map{placement, stages,
                       placement == ChunkPlacement::loop ? *rc::gen::inRange(1, 4) : 2};
    const LayerTimes times = drawn(*rc::gen::inRange<std::size_t>(1, 40));
    const auto parts = static_cast<std::size_t>(map.virtual_stages());
    const std::size_t layers = times.prefix.size() - 1;
    const auto even = even_ends(layers, parts), ends = balanced_ends(times, map);
    const SplitLoad before = split_load(times, map, even), after = split_load(times, map, ends);
    RC_ASSERT(after.period <= before.period * (1 + 1e-9));
    RC_ASSERT(ends == even || after.device <= before.device * (1 - least_gain) * (1 + 1e-9));
    RC_ASSERT(ends.size() == parts && ends.back() == layers && std::ranges::is_sorted(ends));
    const Split held = counts(ends);
    RC_ASSERT(layers < parts || *std::ranges::min_element(held) >= 1U);
  }));
}

}  // namespace
}  // namespace stepcast
