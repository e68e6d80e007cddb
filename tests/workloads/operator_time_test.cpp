#include "stepcast/workloads/operator_time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using lowering::plain_device;

Operator matmul(double m, double n, double k, double bytes = 0) {
  return {"matmul", MatmulWork{m, n, k}, Flops{2 * m * n * k}, Bytes{bytes}, LaunchClass::matmul};
}

Operator grouped(double groups, double m, double n, double k) {
  return {"grouped", GroupedMatmulWork{groups, m, n, k}, Flops{2 * groups * m * n * k}, Bytes{0},
          LaunchClass::matmul};
}

Operator attention(double length, double dim, bool backward) {
  const double flops = length * length * 16 * 2 * dim * (backward ? 2.5 : 1);
  return {"attention", AttentionWork{1, length, length, 16, dim, dim, true, backward}, Flops{flops},
          Bytes{0}, LaunchClass::matmul};
}

Operator vector_work(double flops, double bytes) {
  return {"vector", MemoryBoundWork{}, Flops{flops}, Bytes{bytes}, LaunchClass::vector};
}

double seconds(const Operator& op, const DeviceSpec& device, bool fp8 = false) {
  return operator_time(op, device, fp8).value();
}

TEST(OperatorTime, FullWavesOfFullTilesReachThePeak) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {0.8, 128, 256, 0};
  const Operator op = matmul(128 * 24, 256, 4096);  // 24 tiles on 24 cores
  EXPECT_NEAR(seconds(op, device), op.flops.value() / (0.8 * 300e12), 1e-15);
}

TEST(OperatorTime, OneTileMoreCostsOneWaveMore) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {1, 128, 256, 64};
  const double wave = 2.0 * 128 * 256 * (4096 + 64) * 24 / 300e12;
  EXPECT_NEAR(seconds(matmul(128 * 24, 256, 4096), device), wave, 1e-15);
  // 25 tiles are a second wave of full tiles; of the half tiles (50, 50, 100 on 24 cores: 3, 3 and
  // 5 waves) five quarter waves are least
  EXPECT_NEAR(seconds(matmul(128 * 25, 256, 4096), device), 1.25 * wave, 1e-15);
}

TEST(OperatorTime, SmallProductsUseHalfTiles) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {1, 128, 256, 0};
  EXPECT_NEAR(seconds(matmul(64, 128, 1024), device), 2.0 * 64 * 128 * 1024 * 24 / 300e12, 1e-15);
}

TEST(OperatorTime, GroupsShareWaves) {
  DeviceSpec device = plain_device();
  device.efficiency.grouped_matmul = {1, 128, 256, 0};
  const double one = seconds(grouped(1, 128, 256, 512), device);
  EXPECT_EQ(seconds(grouped(6, 128, 256, 512), device), one);  // 24 quarter tiles fill one wave
  EXPECT_GT(seconds(grouped(7, 128, 256, 512), device), one);
  // rows are quantised per group: 65 rows cost as much as 128
  EXPECT_EQ(seconds(grouped(24, 65, 256, 512), device),
            seconds(grouped(24, 128, 256, 512), device));
}

TEST(OperatorTime, AttentionEfficiencyIsStatedAtHeadSize128) {
  DeviceSpec device = plain_device();
  device.efficiency.attention = {0.6, 0.5, 64, 0};
  const Operator op = attention(4096, 128, false);
  EXPECT_NEAR(seconds(op, device), op.flops.value() / (0.6 * 300e12), 1e-15);
  const Operator back = attention(4096, 128, true);
  EXPECT_NEAR(seconds(back, device), back.flops.value() / (0.5 * 300e12), 1e-15);
  const double relative = (64.0 / 128) / (128.0 / 192);  // d / (d + half) at 64 over 128
  const Operator narrow = attention(4096, 64, false);
  EXPECT_NEAR(seconds(narrow, device), narrow.flops.value() / (0.6 * relative * 300e12), 1e-15);
}

TEST(OperatorTime, ShortSequencesAreLessEfficient) {
  DeviceSpec device = plain_device();
  device.efficiency.attention = {0.6, 0.5, 0, 512};
  const Operator op = attention(512, 128, false);
  EXPECT_NEAR(seconds(op, device), op.flops.value() / (0.3 * 300e12), 1e-15);
}

TEST(OperatorTime, MemoryReachesHalfItsBandwidthAtHalf) {
  DeviceSpec device = plain_device();
  device.efficiency.memory = {0.8, Bytes{1e6}};
  EXPECT_NEAR(seconds(vector_work(1, 1e6), device), 1e6 / (0.5 * 0.8 * 1.6e12), 1e-15);
}

TEST(OperatorTime, VectorWorkCanBindBeforeMemory) {
  DeviceSpec device = plain_device();
  device.efficiency.vector = 0.5;
  EXPECT_NEAR(seconds(vector_work(1e9, 1e3), device), 1e9 / (0.5 * 10e12), 1e-15);
}

TEST(OperatorTime, Fp8SpeedsUpProductsOnlyWhereTheDeviceHasIt) {
  DeviceSpec device = plain_device();
  Operator op = matmul(4096, 4096, 4096);
  op.fp8 = Fp8::ready;
  EXPECT_EQ(seconds(op, device, true), seconds(op, device, false));
  device.matmul_peak_fp8 = FlopsPerSecond{600e12};
  EXPECT_NEAR(seconds(op, device, true), seconds(op, device, false) / 2, 1e-15);
  op.fp8 = Fp8::none;
  EXPECT_EQ(seconds(op, device, true), seconds(op, device, false));
  EXPECT_EQ(seconds(attention(4096, 128, false), device, true),
            seconds(attention(4096, 128, false), device, false));
}

TEST(OperatorTime, NothingCostsNothing) {
  DeviceSpec device = plain_device();
  device.efficiency.memory.half = Bytes{1e6};
  EXPECT_EQ(seconds(matmul(0, 128, 128), device), 0);
  EXPECT_EQ(seconds(grouped(0, 0, 0, 0), device), 0);
  EXPECT_EQ(seconds(attention(0, 128, false), device), 0);
  EXPECT_EQ(seconds(vector_work(0, 0), device), 0);
}

TEST(OperatorTime, GivenTimesAreKept) {
  const Operator op{"fixed", FixedWork{Seconds{0.25}}, Flops{0}, Bytes{0}, LaunchClass::matmul};
  EXPECT_EQ(seconds(op, plain_device()), 0.25);
}

DeviceSpec any_device() {
  DeviceSpec device = plain_device();
  const auto fraction = [] { return *rc::gen::inRange(1, 101) / 100.0; };
  const auto tile = [] { return *rc::gen::element<std::int64_t>(1, 16, 64, 100, 128, 256); };
  device.cube_cores = *rc::gen::inRange(1, 200);
  device.efficiency.matmul = {fraction(), tile(), tile(), 1.0 * *rc::gen::inRange(0, 512)};
  device.efficiency.grouped_matmul = {fraction(), tile(), tile(), 0};
  device.efficiency.attention = {fraction(), fraction(), 1.0 * *rc::gen::inRange(0, 256),
                                 1.0 * *rc::gen::inRange(0, 4096)};
  device.efficiency.memory = {fraction(), Bytes{1.0 * *rc::gen::inRange(0, 1000000)}};
  device.efficiency.vector = fraction();
  return device;
}

Operator any_operator() {
  const auto size = [] { return 1.0 * *rc::gen::inRange(1, 5000); };
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return matmul(size(), size(), size(), size() * 1e4);
    case 1:
      return grouped(*rc::gen::inRange(1, 40), size() / 7, size(), size());
    case 2:
      return attention(size(), *rc::gen::inRange(1, 512), *rc::gen::arbitrary<bool>());
    default:
      return vector_work(size() * 1e5, size() * 1e4);
  }
}

TEST(OperatorTime, IsNeverBelowTheDatasheetRoofline) {
  EXPECT_TRUE(rc::check([] {
    const DeviceSpec device = any_device();
    const Operator op = any_operator();
    const double peak = std::holds_alternative<MemoryBoundWork>(op.work)
                            ? device.vector_peak.value()
                            : device.matmul_peak.value();
    const double roofline =
        std::max(op.flops.value() / peak, op.bytes.value() / device.memory_bandwidth.value());
    RC_ASSERT(seconds(op, device) >= roofline * (1 - 1e-12));
  }));
}

TEST(OperatorTime, AnIdealDeviceTakesNoTimeAndNoNaN) {
  EXPECT_TRUE(rc::check([] {
    DeviceSpec device = any_device();
    const double huge = *rc::gen::element(1e30, std::numeric_limits<double>::infinity());
    device.matmul_peak = device.vector_peak = FlopsPerSecond{huge};
    device.memory_bandwidth = BytesPerSecond{huge};
    const double time = seconds(any_operator(), device);
    RC_ASSERT(time >= 0);
    RC_ASSERT(time < 1e-9);
  }));
}

}  // namespace
}  // namespace stepcast
