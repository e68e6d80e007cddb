#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

using lowering::plain_device;

double time_of(const Operator& op, const DeviceSpec& device) {
  return operator_time(op, device, false).value();
}

Operator one_sequence(double heads, double length) {
  return {"attention", AttentionWork{1, length, length, heads, 128, 128, true, false},
          Flops{heads * length * length / 2 * 4 * 128}, Bytes{0}, LaunchClass::matmul};
}

// A core works on 128 rows at a time, whatever part of them is there; of a causal mask the last
// rows see all keys.
TEST(AttentionTile, NoAttentionIsShorterThanATileOnOneCore) {
  DeviceSpec device = plain_device();  // 24 cores
  device.efficiency.attention.fused.forward = {.cube = 0.5, .start = 50, .diagonal = 100};
  device.efficiency.attention.tile = 128;
  device.efficiency.memory.ramp = Seconds{2e-6};
  const double score = 4 * 128 / (0.5 * 300e12);
  EXPECT_NEAR(time_of(one_sequence(1, 1), device), 2e-6 + 24 * 128 * score * (1 + 150), 1e-15);
  EXPECT_NEAR(time_of(one_sequence(4, 64), device), 2e-6 + 24 * 128 * score * (64 + 150), 1e-15);
  DeviceSpec without = device;
  without.efficiency.attention.tile = 0;
  const Operator full = one_sequence(64, 4096);  // 2048 tiles on 24 cores
  EXPECT_EQ(time_of(full, device), time_of(full, without));
}

TEST(AttentionTile, OneTokenMoreCostsAtMostOneTileMore) {
  EXPECT_TRUE(rc::check([] {
    DeviceSpec device = plain_device();
    device.efficiency.attention.fused.forward = {.cube = 0.5, .start = 50, .diagonal = 100};
    device.efficiency.attention.tile = 128;
    device.efficiency.memory.ramp = Seconds{2e-6};
    const double heads = *rc::gen::inRange(1, 64);
    const double length = *rc::gen::inRange(1, 5000);
    const double now = time_of(one_sequence(heads, length), device);
    const double more = time_of(one_sequence(heads, length + 1), device);
    const double score = 4 * 128 / (0.5 * 300e12);
    RC_ASSERT(more >= now);
    // rows of all heads, one token more each, are fewer than a tile of each core
    RC_ASSERT(more - now <= 24 * 128 * score * (length + 1 + 150) * (1 + 1e-9));
  }));
}

// Short documents leave less to work on, but no less than a tile behind its start.
TEST(AttentionTile, DocumentsLeaveATileToo) {
  WorkloadSpec spec = lowering::workload(lowering::small_dense());
  spec.training.sequence = 128;  // 16 tiles on 24 cores
  spec.documents = true;
  ClusterSpec cluster = lowering::plain_cluster();
  cluster.device.efficiency.attention.fused = {
      .forward = {.cube = 0.5, .start = 50, .diagonal = 100, .ramp = Seconds{1e-6}},
      .backward = {.cube = 0.5, .start = 50, .diagonal = 100, .ramp = Seconds{1e-6}}};
  cluster.device.efficiency.attention.tile = 128;
  cluster.device.efficiency.memory.ramp = Seconds{2e-6};
  const StageProgram program = lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
  int scaled = 0;
  for (const AttentionScaling& scaling : program.attention) {
    if (!scaling.scales()) continue;
    ++scaled;
    EXPECT_GT(scaling.floor, scaling.work);  // the tile binds
    EXPECT_EQ(scaling.factor(0, 0), 1);
    EXPECT_EQ(scaling.factor(1, 1), 1);
  }
  EXPECT_EQ(scaled, 2);
}

}  // namespace
}  // namespace stepcast
