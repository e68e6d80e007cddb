#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using namespace lowering;

double time(const LayerItems& items) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item))
      sum += operator_time(*op, plain_device(), false).value();
  return sum;
}

double time(const Passes& passes) { return time(passes.forward) + time(passes.backward); }

// The split looks at the operators of the pieces and at nothing else.
TEST(AssignLayers, TimesAreThoseOfTheOperators) {
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent()}) {
    const WorkloadSpec spec = workload(model);
    const LayerContext context = lowering::context(spec);
    const LayerTimes times = layer_times(spec, plain_device());
    ASSERT_EQ(times.prefix.size(), static_cast<std::size_t>(spec.model.layers) + 1);
    for (std::int64_t i = 0; i < spec.model.layers; ++i) {
      const LayerKind kind = spec.model.is_moe_layer(i) ? LayerKind::moe : LayerKind::dense;
      const auto at = static_cast<std::size_t>(i);
      EXPECT_NEAR(times.prefix[at + 1] - times.prefix[at], time(transformer_layer(context, kind)),
                  1e-9 * times.prefix.back());
    }
    double after = time(head(context));
    if (spec.model.mtp_layers > 0)
      after += static_cast<double>(spec.model.mtp_layers) * time(mtp_module(context));
    EXPECT_DOUBLE_EQ(times.before, time(embedding(context)));
    EXPECT_NEAR(times.after, after, 1e-12 * after);
  }
}

TEST(AssignLayers, EveryLayerIsOnceAndInOrder) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_latent());
    spec.model.layers = *rc::gen::inRange(1, 40);
    spec.plan.pp = *rc::gen::inRange(1, 9);
    spec.plan.vpp = *rc::gen::inRange(1, 4);
    const LayerTable table = assign_layers(spec, plain_device());
    RC_ASSERT(table.slices.size() == static_cast<std::size_t>(spec.plan.vpp));
    std::int64_t next = 0;
    for (const auto& row : table.slices) {
      RC_ASSERT(row.size() == static_cast<std::size_t>(spec.plan.pp));
      for (const auto& slice : row) {
        RC_ASSERT(slice.first == next);
        RC_ASSERT(slice.count >= (spec.model.layers >= spec.plan.pp * spec.plan.vpp ? 1 : 0));
        next += slice.count;
      }
    }
    RC_ASSERT(next == spec.model.layers);
    RC_ASSERT(table.slices.front().front().embedding);
    RC_ASSERT(table.slices.back().back().head);
    RC_ASSERT(table.slices.back().back().mtp == 1);
  }));
}

TEST(AssignLayers, FollowsTheTable) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.plan.layers = ParallelPlan::Layers::table;
  spec.plan.layers_per_chunk = {{3, 2}, {2, 1}};
  const LayerTable table = assign_layers(spec, plain_device());
  EXPECT_EQ(table.slices[0][1].first, 3);
  EXPECT_EQ(table.slices[1][0].first, 5);
  EXPECT_EQ(table.slices[1][1].count, 1);
}

TEST(AssignLayers, EvenGivesTheFirstChunksTheRest) {
  WorkloadSpec spec = workload(small_dense());
  spec.model.layers = 10;
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.plan.layers = ParallelPlan::Layers::even;
  const LayerTable table = assign_layers(spec, plain_device());
  EXPECT_EQ(table.slices[0][0].count, 3);
  EXPECT_EQ(table.slices[0][1].count, 3);
  EXPECT_EQ(table.slices[1][0].first, 6);
  EXPECT_EQ(table.slices[1][0].count, 2);
  EXPECT_EQ(table.slices[1][1].count, 2);
}

TEST(AssignLayers, IdealDeviceBalancesCounts) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.pp = 4;
  DeviceSpec device = plain_device();
  device.matmul_peak = device.vector_peak = FlopsPerSecond{std::numeric_limits<double>::infinity()};
  device.memory_bandwidth = BytesPerSecond{std::numeric_limits<double>::infinity()};
  const LayerTable table = assign_layers(spec, device);
  for (const auto& slice : table.slices[0]) EXPECT_EQ(slice.count, 2);
}

// The layers of a pipeline follow each other whatever seat holds them, and each pipeline holds all.
TEST(AssignLayers, FollowThePlacementOfChunks) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_dense());
    spec.plan.pp = *rc::gen::element(1, 2, 4);
    spec.plan.vpp = 2;
    spec.plan.chunk_placement = *rc::gen::element(ChunkPlacement::loop, ChunkPlacement::v_shape,
                                                  ChunkPlacement::bidirectional);
    spec.plan.layers =
        *rc::gen::element(ParallelPlan::Layers::automatic, ParallelPlan::Layers::even);
    const LayerTable table = assign_layers(spec, plain_device());
    const ChunkMap map = spec.plan.chunk_map();
    for (std::uint32_t first = 0; first < static_cast<std::uint32_t>(map.copies()); ++first) {
      std::optional<Seat> seat =
          first == 0 ? Seat{} : Seat{{1}, {static_cast<std::uint32_t>(spec.plan.pp - 1)}};
      std::int64_t next = 0, place = 0;
      for (; seat; seat = map.after(*seat), ++place) {
        const auto& slice = table.slices[seat->chunk.value][seat->stage.value];
        RC_ASSERT(map.virtual_stage(*seat) == place);
        RC_ASSERT(slice.first == next);
        RC_ASSERT(slice.embedding == (place == 0));
        RC_ASSERT(slice.head == !map.after(*seat));
        next += slice.count;
      }
      RC_ASSERT(next == spec.model.layers);
      RC_ASSERT(place == map.virtual_stages());
    }
  }));
}

}  // namespace
}  // namespace stepcast
