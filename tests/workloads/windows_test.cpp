#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/operator_time.hpp"

// Sliding windows of attention, in all layers or alternating with layers that see all tokens.
namespace stepcast {
namespace {

using namespace lowering;

ModelSpec windowed(std::int64_t window, std::int64_t full_every = 0) {
  ModelSpec model = small_dense();
  auto& attention = std::get<GroupedQueryAttention>(model.attention);
  attention.window = window;
  attention.full_every = full_every;
  return model;
}

LayerContext in_window(const WorkloadSpec& spec, std::int64_t window) {
  LayerContext layer = context(spec);
  layer.window = window;
  return layer;
}

const Operator& core(const LayerItems& items) {
  const auto found = std::ranges::find_if(items, [](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && std::holds_alternative<AttentionWork>(op->work);
  });
  return std::get<Operator>(*found);
}

/// Keys that all queries see, each its own by half, as the causal half of whole sequences counts
/// it.
double keys_seen(std::int64_t sequence, std::int64_t window) {
  double sum = 0;
  for (std::int64_t i = 0; i < sequence; ++i)
    sum += std::min(static_cast<double>(i) + 0.5, static_cast<double>(window));
  return sum;
}

TEST(Windows, AQueryCountsTheKeysThatItSees) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = workload(small_dense());
    spec.training.sequence = *rc::gen::inRange(1, 3000);
    const std::int64_t window = *rc::gen::inRange(1, 4000);
    const Operator op = core(transformer_layer(in_window(spec, window), LayerKind::dense).forward);
    const double expected = keys_seen(spec.training.sequence, window) * 4 * 64 * 16;
    RC_ASSERT(std::abs(op.flops.value() / expected - 1) < 1e-12);
  }));
}

TEST(Windows, AsLongAsTheSequenceTheyChangeNothing) {
  const WorkloadSpec spec = workload(small_dense());
  const DeviceSpec device = plain_device();
  for (const std::int64_t window : {2048, 4096}) {
    const Passes layer = transformer_layer(in_window(spec, window), LayerKind::dense);
    const Passes plain = transformer_layer(context(spec), LayerKind::dense);
    EXPECT_EQ(total_flops(layer.backward).value(), total_flops(plain.backward).value());
    EXPECT_EQ(operator_time(core(layer.forward), device, false).value(),
              operator_time(core(plain.forward), device, false).value());
  }
}

TEST(Windows, OfAContextRankSumUpToThoseOfTheSequence) {
  WorkloadSpec spec = workload(small_dense());
  const auto flops = [&] {
    const Passes layer = transformer_layer(in_window(spec, 512), LayerKind::dense);
    return core(layer.forward).flops.value() * static_cast<double>(spec.plan.cp);
  };
  const double whole = flops();
  spec.plan.cp = 4;
  for (const auto algorithm :
       {ParallelPlan::ContextAlgorithm::ulysses, ParallelPlan::ContextAlgorithm::allgather}) {
    spec.plan.context_algorithm = algorithm;
    EXPECT_NEAR(flops() / whole, 1, 1e-12);
  }
}

TEST(Windows, LayersThatSeeAllAreEveryNth) {
  const ModelSpec model = windowed(128, 6);
  for (std::int64_t layer = 0; layer < 12; ++layer)
    EXPECT_EQ(model.window_of(layer), layer == 5 || layer == 11 ? 0 : 128);
  EXPECT_EQ(windowed(128).window_of(5), 128);
  EXPECT_EQ(small_dense().window_of(0), 0);
}

/// Model FLOPs have the same keys as rows have.
TEST(Windows, ModelFlopsAreThoseOfTheLayers) {
  const std::int64_t sequence = 2048, window = 300;
  const double all = training_flops_per_token(small_dense(), sequence, false);
  const double none = training_flops_per_token(small_dense(), 0, false);
  const double part = keys_seen(sequence, window) / keys_seen(sequence, sequence);
  EXPECT_NEAR(training_flops_per_token(windowed(window), sequence, false),
              none + part * (all - none), 1e-9 * all);
  EXPECT_NEAR(training_flops_per_token(windowed(window, 2), sequence, false),
              none + (1 + part) / 2 * (all - none), 1e-9 * all);
  EXPECT_DOUBLE_EQ(training_flops_per_token(windowed(window), 0, false), none);
}

TEST(Windows, StagesRunEachLayerWithItsOwn) {
  WorkloadSpec spec = workload(windowed(256, 2));
  const auto attention = [&] {
    const LayerTable layers = assign_layers(spec, plain_cluster());
    return lower_stage(spec, layers, plain_cluster(), Stage{0}).executed_attention_flops;
  };
  const double alternating = attention();
  spec.model = windowed(256);
  const double narrow = attention();
  spec.model = small_dense();
  EXPECT_NEAR(alternating, (narrow + attention()) / 2, 1e-9 * alternating);
  EXPECT_LT(narrow, alternating);
}

/// Blocks that the far edge cuts cost what those of the diagonal cost.
TEST(Windows, LoseAtBothEdges) {
  DeviceSpec device = plain_device();
  device.efficiency.attention.fused.forward.diagonal = 64;
  const WorkloadSpec spec = workload(small_dense());
  const auto loss = [&](std::int64_t window) {
    const Passes layer = transformer_layer(in_window(spec, window), LayerKind::dense);
    const Operator& op = core(layer.forward);
    return attention_loss(op, std::get<AttentionWork>(op.work), device);
  };
  EXPECT_DOUBLE_EQ(loss(0), 64.0 / 2 / 1024);
  EXPECT_DOUBLE_EQ(loss(256), 64.0 / (256 - 256.0 * 256 / 2 / 2048));
}

}  // namespace
}  // namespace stepcast
