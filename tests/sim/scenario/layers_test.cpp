#include "stepcast/sim/scenario/layers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {
namespace {

constexpr ChunkMap loop(std::int64_t stages, std::int64_t chunks) {
  return {ChunkPlacement::loop, stages, chunks};
}

LayerTimes alike(std::size_t layers, double each, double before, double after) {
  LayerTimes times;
  for (std::size_t i = 1; i <= layers; ++i) times.prefix.push_back(each * static_cast<double>(i));
  times.before = before;
  times.after = after;
  return times;
}

/// Until the last of four micro-batches per stage is over.
double pipeline(const LayerTimes& times, const ChunkMap& map,
                const std::vector<std::size_t>& ends) {
  const PipelineShape shape{.stages = map.stages,
                            .chunks = map.chunks,
                            .micro_batches = 4 * map.stages,
                            .group = map.stages};
  const auto orders = stage_orders(pipeline_schedule("interleaved_1f1b"), shape);
  UnitCosts costs{.forward = Seconds{1.0 / 3}, .backward = Seconds{2.0 / 3}};
  costs.of_part = part_times(times, ends);
  return time_orders(orders, shape, costs).makespan.value();
}

// Thirty layers of 3.9 with a head of 10.5 on eight stages of two chunks: a recurrence written by
// hand gives 777.0 for the even split, 753.6 where the last stage hands on the layer of its first
// chunk, and 797.7 where the first stage moves one to its second chunk, which has the least sum of
// the longest chunks.
TEST(Layers, OfALoopAreThoseWhosePipelineIsOverFirst) {
  const LayerTimes times = alike(30, 3.9, 1.5, 10.5);
  const auto ends = layer_ends(times, loop(8, 2));
  EXPECT_EQ(ends, (std::vector<std::size_t>{2, 4, 6, 8, 10, 12, 14, 15,  //
                                            17, 19, 21, 23, 25, 27, 29, 30}));
  EXPECT_NEAR(pipeline(times, loop(8, 2), ends), 753.6, 0.05);
  EXPECT_NEAR(pipeline(times, loop(8, 2), even_ends(30, 16)), 777.0, 0.05);
  EXPECT_NEAR(pipeline(times, loop(8, 2), balanced_ends(times, loop(8, 2))), 797.7, 0.05);
}

TEST(Layers, OfALoopAreNeverSlowerThanEven) {
  EXPECT_TRUE(rc::check("layers and head drawn", [] {
    const auto stages = *rc::gen::inRange<std::int64_t>(2, 7);
    const auto chunks = *rc::gen::inRange<std::int64_t>(2, 4);
    const auto parts = static_cast<std::size_t>(stages * chunks);
    const auto layers = parts + *rc::gen::inRange<std::size_t>(0, parts + 1);
    const auto tenths = [] { return 0.1 * *rc::gen::inRange(0, 60); };
    const LayerTimes times = alike(layers, 1, tenths(), tenths());
    const auto ends = layer_ends(times, loop(stages, chunks));
    RC_ASSERT(ends.size() == parts);
    RC_ASSERT(ends.back() == layers);
    RC_ASSERT(pipeline(times, loop(stages, chunks), ends) <=
              pipeline(times, loop(stages, chunks), even_ends(layers, parts)) * (1 + 1e-9));
  }));
}

// One chunk of a stage waits for no other.
TEST(Layers, OfOneChunkAreTheBalancedOnes) {
  const LayerTimes times = alike(32, 1, 0, 2.5);
  EXPECT_EQ(layer_ends(times, loop(8, 1)), balanced_ends(times, loop(8, 1)));
  const ChunkMap v{ChunkPlacement::v_shape, 4, 2};
  EXPECT_EQ(layer_ends(times, v), balanced_ends(times, v));
}

}  // namespace
}  // namespace stepcast
