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

Operator grouped_product(double groups, double m, double n, double k) {
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

// Products that run at 0.8 of the peak where 0.5 is what the limit holds draw 1.6 times the limit.
TEST(PowerDraw, IsTheRateOfProductsOverTheSustainedOne) {
  DeviceSpec device = plain_device();
  device.power_cap = PowerCap{Seconds{1}, 0.9, 0.4, 0};
  device.efficiency.matmul = {0.8, 128, 256, 0};
  device.efficiency.matmul.sustained = 0.5;
  device.efficiency.grouped_matmul = device.efficiency.matmul;
  const Operator op = matmul(128 * 24, 256, 4096);
  EXPECT_NEAR(power_draw(op, device, false), 0.8 / 0.5, 1e-12);
  EXPECT_NEAR(power_draw(grouped_product(24, 128, 256, 4096), device, false), 0.8 / 0.5, 1e-12);
  // one tile on one of 24 cores draws as much less as it is slower
  EXPECT_NEAR(power_draw(matmul(64, 64, 4096), device, false),
              power_draw(matmul(64 * 6, 64, 4096), device, false) / 6, 1e-12);
  EXPECT_EQ(power_draw(attention(4096, 128, false), device, false), 0.9);
  EXPECT_EQ(power_draw(vector_work(1e6, 1e9), device, false), 0.4);
  EXPECT_EQ(power_draw(vector_work(0, 0), device, false), 0);
}

TEST(PowerDraw, OfFp8IsThatOfItsOwnLimit) {
  DeviceSpec device = plain_device();
  device.power_cap = PowerCap{Seconds{1}, 1, 1, 0};
  device.matmul_peak_fp8 = 2 * device.matmul_peak;
  device.efficiency.matmul = {0.8, 128, 256, 0};
  device.efficiency.matmul_fp8 = device.efficiency.matmul;
  device.efficiency.matmul_fp8->sustained = 0.4;
  Operator op = matmul(128 * 24, 256, 4096);
  op.fp8 = Fp8::ready;
  EXPECT_NEAR(power_draw(op, device, true), 2, 1e-12);
  EXPECT_NEAR(power_draw(op, device, false), 0.8, 1e-12);
}

TEST(OperatorTime, OneTileMoreCostsOneWaveMore) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {1, 128, 256, 64};
  const double wave = 2.0 * 128 * 256 * (4096 + 64) * 24 / 300e12;
  EXPECT_NEAR(seconds(matmul(128 * 24, 256, 4096), device), wave, 1e-15);
  // 25 tiles are a second wave of full tiles; of the smaller ones, 200 of 64 x 64 on 24 cores are
  // nine waves of an eighth, which is least
  EXPECT_NEAR(seconds(matmul(128 * 25, 256, 4096), device), 9.0 / 8 * wave, 1e-15);
}

TEST(OperatorTime, SmallProductsUseSmallTiles) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {1, 128, 256, 0};
  const double tile = 2.0 * 64 * 64 * 1024 * 24 / 300e12;
  EXPECT_NEAR(seconds(matmul(64, 128, 1024), device), tile, 1e-15);
  // sides are the longer one and its halves down to half of the shorter one
  EXPECT_NEAR(seconds(matmul(32, 32, 1024), device), tile, 1e-15);
}

TEST(OperatorTime, GroupsShareWaves) {
  DeviceSpec device = plain_device();
  device.efficiency.grouped_matmul = {1, 128, 256, 0};
  const double one = seconds(grouped_product(1, 64, 64, 512), device);
  EXPECT_EQ(seconds(grouped_product(24, 64, 64, 512), device), one);  // one tile on each core
  EXPECT_GT(seconds(grouped_product(25, 64, 64, 512), device), one);
  // rows are quantised per group: 65 rows cost as much as 128
  EXPECT_EQ(seconds(grouped_product(24, 65, 256, 512), device),
            seconds(grouped_product(24, 128, 256, 512), device));
}

// A piece of one tile leaves 23 of 24 cores idle, where the next ones fit beside it.
TEST(OperatorTime, PiecesOnStreamsShareTheCores) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {1, 128, 256, 0};
  const auto piece_of = [](double pieces) {
    Operator op = matmul(64, 64, 512);
    std::get<MatmulWork>(op.work).pieces = pieces;
    return op;
  };
  const double tile = 2.0 * 64 * 64 * 512 * 24 / 300e12;
  EXPECT_NEAR(seconds(piece_of(8), device), tile, 1e-15);  // one stream
  device.product_streams = 3;
  EXPECT_NEAR(seconds(piece_of(1), device), tile, 1e-15);
  EXPECT_NEAR(seconds(piece_of(2), device), tile / 2, 1e-15);
  EXPECT_NEAR(seconds(piece_of(8), device), tile / 3, 1e-15);
}

TEST(OperatorTime, SmallerTilesRunSlower) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {.peak = 1, .tile_exponent = 1.0 / 3};
  // an eighth of the largest tile's area at half of its rate
  EXPECT_NEAR(seconds(matmul(64, 64, 1024), device), 2 * 2.0 * 64 * 64 * 1024 * 24 / 300e12, 1e-15);
}

TEST(OperatorTime, LongProductsRunAtTheSustainedClock) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul = {.peak = 0.9, .sustained = 0.7, .ramp = Seconds{5e-6}};
  const Operator op = matmul(128 * 24, 256, 4096);
  EXPECT_NEAR(seconds(op, device), 5e-6 + op.flops.value() / (0.7 * 300e12), 1e-15);
  // a wave that is nearly empty takes as long as a full one, which then is what bounds
  const Operator few = matmul(64, 64, 4096);
  EXPECT_NEAR(seconds(few, device), 5e-6 + 24 * few.flops.value() / (0.9 * 300e12), 1e-15);
}

TEST(OperatorTime, OperandsOfProductsHaveTheirOwnBandwidth) {
  DeviceSpec device = plain_device();
  device.efficiency.memory.peak = 0.5;
  const Operator op = matmul(1, 1, 1, 1e9);
  EXPECT_NEAR(seconds(op, device), 1e9 / (0.5 * 1.6e12), 1e-12);
  device.efficiency.matmul.memory = 0.8;
  EXPECT_NEAR(seconds(op, device), 1e9 / (0.8 * 1.6e12), 1e-12);
}

TEST(OperatorTime, WhatIsNotHiddenOfTheShorterPartIsAdded) {
  DeviceSpec device = plain_device();
  device.efficiency.matmul.memory = 1;
  const double flops = 2.0 * 4096 * 4096 * 4096;
  const double products = flops / device.matmul_peak.value();
  const double bandwidth = device.memory_bandwidth.value();
  for (const double share : {0.5, 3.0}) {  // operands take less, then more, than the products
    const Operator op = matmul(4096, 4096, 4096, share * products * bandwidth);
    device.efficiency.matmul.exposed = 0;
    const double hidden = seconds(op, device);
    device.efficiency.matmul.exposed = 0.25;
    const double shorter = std::min(seconds(matmul(4096, 4096, 4096), device), share * products);
    EXPECT_NEAR(seconds(op, device), hidden + 0.25 * shorter, 1e-12 * hidden);
  }
}

TEST(OperatorTime, GroupedProductsInFp8HaveNumbersOfTheirOwn) {
  DeviceSpec device = plain_device();
  device.matmul_peak_fp8 = FlopsPerSecond{600e12};
  Operator op = grouped_product(8, 4096, 4096, 4096);
  op.fp8 = Fp8::ready;
  const double as_grouped = seconds(op, device, true);
  EXPECT_NEAR(as_grouped, seconds(op, device, false) / 2, 1e-15);
  device.efficiency.grouped_matmul_fp8 = MatmulEfficiency{.peak = 0.5};
  EXPECT_NEAR(seconds(op, device, true), 2 * as_grouped * device.efficiency.grouped_matmul.peak,
              1e-12);
  EXPECT_NEAR(seconds(op, device, false), 2 * as_grouped, 1e-12);  // only in FP8
}

TEST(OperatorTime, BatchedProductsArePlainOnes) {
  DeviceSpec device = plain_device();
  device.efficiency.grouped_matmul.peak = 0.25;
  Operator op = grouped_product(24, 128, 256, 4096);
  EXPECT_NEAR(seconds(op, device), op.flops.value() / (0.25 * 300e12), 1e-15);
  std::get<GroupedMatmulWork>(op.work).batched = true;
  EXPECT_NEAR(seconds(op, device), op.flops.value() / 300e12, 1e-15);
}

/// FLOPs per second of an attention operator over the cube peak.
double rate(const Operator& op, const DeviceSpec& device) {
  return op.flops.value() / seconds(op, device) / device.matmul_peak.value();
}

TEST(OperatorTime, AttentionIsBoundByProductsOrByItsScores) {
  DeviceSpec device = plain_device();
  AttentionKernel& kernel = device.efficiency.attention.fused;
  kernel = {{.cube = 0.6, .vector = 6}, {.cube = 0.5}};
  // 4 x 128 FLOPs per score at 180 TFLOPS take 2.8 ps, 6 FLOPs at 10 TFLOPS 0.6 ps
  EXPECT_NEAR(rate(attention(4096, 128, false), device), 0.6, 1e-12);
  EXPECT_NEAR(rate(attention(4096, 128, true), device), 0.5, 1e-12);
  const double narrow = 4 * 16 / (6 / 10e12) / 300e12;  // at head size 16 the scores bind
  EXPECT_NEAR(rate(attention(4096, 16, false), device), narrow, 1e-12);
}

TEST(OperatorTime, QueriesLoseWhatTheMaskCutsAndTheStart) {
  DeviceSpec device = plain_device();
  device.efficiency.attention.fused.forward = {.cube = 0.6, .start = 128, .diagonal = 384};
  EXPECT_NEAR(rate(attention(512, 128, false), device), 0.6 / 2, 1e-12);
  EXPECT_NEAR(rate(attention(5120, 128, false), device), 0.6 / 1.1, 1e-12);
  Operator whole = attention(512, 128, false);
  std::get<AttentionWork>(whole.work).causal = false;
  whole.flops = Flops{2 * whole.flops.value()};
  EXPECT_NEAR(rate(whole, device), 0.6 / 1.25, 1e-12);
}

TEST(OperatorTime, HeadsChangeTheRateOfKernelsThatSayso) {
  DeviceSpec device = plain_device();
  device.efficiency.attention.fused.forward = {.cube = 0.3, .head_exponent = 1};
  EXPECT_NEAR(rate(attention(4096, 64, false), device), 0.6, 1e-12);
  EXPECT_NEAR(rate(attention(4096, 256, false), device), 0.15, 1e-12);
}

TEST(OperatorTime, BlocksOfQueriesFillTheCoresInWaves) {
  DeviceSpec device = plain_device();  // 24 cores
  device.efficiency.attention.fused.forward = {.cube = 1, .block = 256};
  const auto one_head = [](double length, bool causal) {
    const double flops = (causal ? 0.5 : 1) * length * length * 4 * 128;
    return Operator{"attention", AttentionWork{1, length, length, 1, 128, 128, causal, false},
                    Flops{flops}, Bytes{0}, LaunchClass::matmul};
  };
  EXPECT_NEAR(rate(one_head(1024, false), device), 4.0 / 24, 1e-12);       // 4 blocks
  EXPECT_NEAR(rate(one_head(256 * 25, false), device), 25.0 / 48, 1e-12);  // a second wave
  // causal blocks are balanced, but the longest is twice the mean
  EXPECT_NEAR(rate(one_head(1024, true), device), 4.0 / 48, 1e-12);
  EXPECT_NEAR(rate(one_head(256 * 60, true), device), 1, 1e-12);
}

TEST(OperatorTime, KernelsOfAKindReachItsFractionBehindTheirRamp) {
  DeviceSpec device = plain_device();
  device.efficiency.memory = {.peak = 0.8, .norm = 0.4, .backward = 0.5, .ramp = Seconds{2e-6}};
  const auto time = [&](VectorKind kind) {
    Operator op = vector_work(1, 1e6);
    op.work = MemoryBoundWork{kind};
    return seconds(op, device);
  };
  EXPECT_NEAR(time(VectorKind::elementwise), 2e-6 + 1e6 / (0.8 * 1.6e12), 1e-15);
  EXPECT_NEAR(time(VectorKind::norm), 2e-6 + 1e6 / (0.4 * 1.6e12), 1e-15);
  EXPECT_NEAR(time(VectorKind::norm_backward), 2e-6 + 1e6 / (0.2 * 1.6e12), 1e-15);
  EXPECT_NEAR(time(VectorKind::activation), time(VectorKind::elementwise), 1e-15);
  EXPECT_NEAR(time(VectorKind::gather), time(VectorKind::elementwise), 1e-15);
}

TEST(OperatorTime, WhatTheCacheHoldsComesFaster) {
  DeviceSpec device = plain_device();
  device.efficiency.memory = {.cache = Bytes{2e6}, .cache_share = 0.5, .cache_speedup = 2};
  const double bandwidth = 1.6e12;
  EXPECT_NEAR(seconds(vector_work(1, 1e6), device), 0.5 * 1e6 / bandwidth, 1e-15);
  EXPECT_NEAR(seconds(vector_work(1, 4e6), device), (4e6 - 0.5e6) / bandwidth, 1e-15);
}

TEST(OperatorTime, ShortRowsSlowAKernelOfOneBlockPerToken) {
  DeviceSpec device = plain_device();
  device.efficiency.memory.block_row = 300;
  Operator op = vector_work(1, 1e6);
  op.work = MemoryBoundWork{VectorKind::block_activation, 300};
  EXPECT_NEAR(seconds(op, device), 2 * 1e6 / 1.6e12, 1e-15);
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
  device.efficiency.matmul_fp8 = MatmulEfficiency{.peak = 0.5};
  EXPECT_NEAR(seconds(op, device, true), seconds(op, device, false), 1e-15);
  op.fp8 = Fp8::none;
  EXPECT_EQ(seconds(op, device, true), seconds(op, device, false));
  EXPECT_EQ(seconds(attention(4096, 128, false), device, true),
            seconds(attention(4096, 128, false), device, false));
}

TEST(OperatorTime, NothingCostsNothing) {
  DeviceSpec device = plain_device();
  device.efficiency.memory.ramp = device.efficiency.matmul.ramp = Seconds{1};
  EXPECT_EQ(seconds(matmul(0, 128, 128), device), 0);
  EXPECT_EQ(seconds(grouped_product(0, 0, 0, 0), device), 0);
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
  device.efficiency.matmul = {.peak = fraction(),
                              .tile_m = tile(),
                              .tile_n = tile(),
                              .fill = 1.0 * *rc::gen::inRange(0, 512),
                              .tile_exponent = fraction(),
                              .sustained = fraction(),
                              .memory = fraction()};
  device.efficiency.grouped_matmul = {fraction(), tile(), tile(), 0};
  const auto keys = [] { return 1.0 * *rc::gen::inRange(0, 1000); };
  const auto pass = [&] {
    return AttentionPass{.cube = fraction(),
                         .vector = keys(),
                         .start = keys(),
                         .diagonal = keys(),
                         .head_exponent = fraction(),
                         .block = *rc::gen::element<std::int64_t>(0, 64, 256)};
  };
  device.efficiency.attention.fused = {pass(), pass()};
  device.efficiency.memory = {.peak = fraction(), .norm = fraction(), .backward = fraction()};
  device.efficiency.vector = fraction();
  return device;
}

Operator any_operator() {
  const auto size = [] { return 1.0 * *rc::gen::inRange(1, 5000); };
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return matmul(size(), size(), size(), size() * 1e4);
    case 1:
      return grouped_product(*rc::gen::inRange(1, 40), size() / 7, size(), size());
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

// A token more is at most one more row of tiles, of which the cores take so many at once: one wave
// where the row is no longer than that. Its tiles have some shape of the menu; the bound has the
// time of the largest one at the rate of the smallest one. Power and operands grow evenly.
TEST(OperatorTime, OneTokenMoreCostsAtMostOneRowOfTiles) {
  EXPECT_TRUE(rc::check([] {
    const DeviceSpec device = any_device();
    const MatmulEfficiency& e = device.efficiency.matmul;
    const double m = 1.0 * *rc::gen::inRange(1, 5000), n = 1.0 * *rc::gen::inRange(1, 5000),
                 k = 1.0 * *rc::gen::inRange(1, 5000);
    const auto cores = static_cast<double>(device.cube_cores);
    const double shortest = std::max(1.0, static_cast<double>(std::min(e.tile_m, e.tile_n)) / 2);
    const auto largest = static_cast<double>(e.tile_m * e.tile_n);
    const double slowest = std::pow(largest / (shortest * shortest), e.tile_exponent);
    const double peak = device.matmul_peak.value();
    const double wave = 2 * largest * (k + e.fill) * slowest / (e.peak * peak / cores);
    const Operator shorter = matmul(m, n, k), longer = matmul(m + 1, n, k);
    const double power = 2 * n * k / e.sustained / peak;
    const double operands = (longer.bytes - shorter.bytes).value() /
                            (e.memory.value_or(1) * device.memory_bandwidth.value());
    const double step = seconds(longer, device) - seconds(shorter, device);
    const double waves = std::ceil(std::ceil(n / shortest) / cores);
    RC_ASSERT(step >= -1e-15);
    RC_ASSERT(step <= std::max({wave * waves, power, operands}) * (1 + 1e-9) + 1e-15);
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
