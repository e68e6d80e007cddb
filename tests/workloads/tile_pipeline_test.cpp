#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using Cores = TileStage::Cores;

std::vector<TileStage> any_stages() {
  std::vector<TileStage> stages(*rc::gen::inRange<std::size_t>(1, 6));
  for (TileStage& s : stages)
    s = {*rc::gen::element(Cores::cube, Cores::vector), Seconds(*rc::gen::inRange(1, 20) * 1e-6)};
  return stages;
}

double work_of(const std::vector<TileStage>& stages, Cores cores) {
  double sum = 0;
  for (const TileStage& s : stages) sum += s.cores == cores ? s.time.value() : 0;
  return sum;
}

TEST(TilePipeline, OneTileTakesItsStages) {
  EXPECT_TRUE(rc::check([] {
    const auto stages = any_stages();
    const double sum = work_of(stages, Cores::cube) + work_of(stages, Cores::vector);
    RC_ASSERT(std::abs(tile_pipeline_time(stages, 1).value() - sum) < 1e-15);
  }));
}

TEST(TilePipeline, LiesBetweenTheBusierCoresAndTheSum) {
  EXPECT_TRUE(rc::check([] {
    const auto stages = any_stages();
    const std::int64_t tiles = *rc::gen::inRange(1, 20);
    const double cube = work_of(stages, Cores::cube), vector = work_of(stages, Cores::vector);
    const double time = tile_pipeline_time(stages, tiles).value();
    const double count = static_cast<double>(tiles);
    RC_ASSERT(time >= count * std::max(cube, vector) * (1 - 1e-12));
    RC_ASSERT(time <= count * (cube + vector) * (1 + 1e-12));
  }));
}

// Two stages on different cores: a flow shop of equal jobs, first + last + (n - 1) longest.
TEST(TilePipeline, TwoStagesAreAFlowShop) {
  EXPECT_TRUE(rc::check([] {
    const Seconds a(*rc::gen::inRange(1, 20) * 1e-6), b(*rc::gen::inRange(1, 20) * 1e-6);
    const std::int64_t tiles = *rc::gen::inRange(1, 20);
    const std::vector<TileStage> stages{{Cores::vector, a}, {Cores::cube, b}};
    const double expected = (a + b + std::max(a, b) * static_cast<double>(tiles - 1)).value();
    RC_ASSERT(std::abs(tile_pipeline_time(stages, tiles).value() - expected) < 1e-14);
  }));
}

// Cube, vector, cube: while the vector cores activate one tile, the cube multiplies another.
TEST(TilePipeline, CubeCoresStayBusy) {
  const std::vector<TileStage> stages{
      {Cores::cube, Seconds{4e-6}}, {Cores::vector, Seconds{1e-6}}, {Cores::cube, Seconds{2e-6}}};
  EXPECT_NEAR(tile_pipeline_time(stages, 1).value(), 7e-6, 1e-18);
  EXPECT_NEAR(tile_pipeline_time(stages, 10).value(), 60e-6, 1e-15);
}

// Operators of one device, fused: cut into one tile they follow each other, into many they overlap.
TEST(TilePipeline, FusedOperatorsOverlap) {
  DeviceSpec device = lowering::plain_device();
  const Operator product{"up", GroupedMatmulWork{4, 4096, 2048, 2048},
                         Flops{2.0 * 4 * 4096 * 2048 * 2048}, Bytes{1e6}, LaunchClass::matmul};
  const Operator rows{"sort", MemoryBoundWork{}, Flops{0}, Bytes{500e6}, LaunchClass::vector};
  const double cube = operator_time(product, device, false).value();
  const double vector = operator_time(rows, device, false).value();
  const auto fused = [&](double tiles) {
    FusedWork work{{fused_stage(rows), fused_stage(product)}, tiles};
    const Operator op{"both", work, product.flops / tiles, (product.bytes + rows.bytes) / tiles};
    return operator_time(op, device, false).value() * tiles;
  };
  EXPECT_NEAR(fused(1), cube + vector, 1e-12);
  EXPECT_NEAR(fused(10), std::max(cube, vector) + std::min(cube, vector) / 10, 1e-9);
  device.tile_task = Seconds{1e-6};
  EXPECT_NEAR(fused(1), cube + vector + 2e-6, 1e-12);
}

// Separate operators copy tokens in front of both exchanges; the kernel writes them in place.
TEST(TilePipeline, TheKernelCopiesNothingInFront) {
  WorkloadSpec spec = lowering::workload(lowering::small_moe());
  spec.plan.dp = spec.plan.ep = 4;
  const auto bytes = [&](MoeSpec::Overlap overlap, const std::string& name) {
    spec.moe.overlap = overlap;
    spec.moe.pieces = 4;
    const Passes passes = transformer_layer(lowering::context(spec), LayerKind::moe);
    double sum = 0;
    for (const LayerItems* items : {&passes.forward, &passes.backward})
      for (const LayerItem& item : *items)
        if (const auto* op = std::get_if<Operator>(&item); op && op->name == name)
          sum += op->bytes.value();
    return sum;
  };
  for (const char* before : {"permute", "unpermute backward"}) {
    EXPECT_GT(bytes(MoeSpec::Overlap::chunks, before), 0) << before;
    EXPECT_EQ(bytes(MoeSpec::Overlap::tiles, before), 0) << before;
  }
  for (const char* behind : {"unpermute", "permute backward"})
    EXPECT_EQ(bytes(MoeSpec::Overlap::chunks, behind), bytes(MoeSpec::Overlap::tiles, behind));
}

}  // namespace
}  // namespace stepcast
