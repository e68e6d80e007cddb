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

}  // namespace
}  // namespace stepcast
