#include "stepcast/workloads/allocator_replay.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "known_models.hpp"
#include "stepcast/workloads/memory.hpp"

// What an allocator keeps of Megatron-LM's layers and DeepSpeed's updates (docs/models/memory.md).
namespace stepcast {
namespace {

using namespace known_models;

constexpr std::int64_t replayed_tp = 8, replayed_hidden = 12288, replayed_tokens = 2 * 2048,
                       replay_mebi = 1 << 20;
constexpr double replayed_residual = 2.0 * replayed_tokens * replayed_hidden;

WorkloadSpec replayed_workload() {
  WorkloadSpec spec;
  spec.model = gpt3_175b();
  spec.training.sequence = 2048;
  spec.training.micro_batch = 2;
  spec.training.global_batch = 256;
  spec.training.recompute = TrainingSpec::Recompute::full;
  spec.training.attention = TrainingSpec::Attention::unfused;
  spec.training.dropout = true;
  spec.communication.scatter_gather = true;
  spec.plan.tp = replayed_tp;
  spec.plan.pp = 8;
  spec.plan.dp = 4;
  spec.plan.zero = 1;
  return spec;
}

LayerTable::Slice inner_stage(std::int64_t layers) { return {12, layers, false, false, 0}; }

double kept_segments(const WorkloadSpec& spec, const LayerTable::Slice& slice,
                     std::int64_t in_flight) {
  return replay_allocator(spec, slice, in_flight).reserved.value();
}

TEST(AllocatorReplay, NeedsTheOrderOfTensors) {
  const WorkloadSpec known = replayed_workload();
  EXPECT_TRUE(replays_allocator(known));
  const auto refused = [&](auto change) {
    WorkloadSpec spec = known;
    change(spec);
    return !replays_allocator(spec);
  };
  EXPECT_TRUE(refused([](auto& s) { s.training.attention = TrainingSpec::Attention::fused; }));
  EXPECT_TRUE(refused([](auto& s) { s.training.recompute = TrainingSpec::Recompute::none; }));
  EXPECT_TRUE(refused([](auto& s) { s.training.dropout = false; }));
  EXPECT_TRUE(refused([](auto& s) { s.model = llama3_70b(); }));
  EXPECT_TRUE(refused([](auto& s) { s.plan.vpp = 2; }));
  EXPECT_TRUE(refused([](auto& s) { s.plan.zero = 2; }));
}

// What waits of one more micro-batch: inputs of layers, the parts received and sent, and the mask
// of the embedding, which receives none.
TEST(AllocatorReplay, TensorsInFlightAreThoseOfTheBudget) {
  const WorkloadSpec spec = replayed_workload();
  const auto more = [&](const LayerTable::Slice& slice) {
    return (replay_allocator(spec, slice, 5).allocated - replay_allocator(spec, slice, 4).allocated)
        .value();
  };
  EXPECT_EQ(more(inner_stage(3)), 3 * replayed_residual + 2 * replayed_residual / replayed_tp);
  EXPECT_EQ(more({0, 3, true, false, 0}),
            3 * replayed_residual + replayed_residual / 2 + replayed_residual / replayed_tp);
}

TEST(AllocatorReplay, ACopyOfAllGradientsIsASegment) {
  WorkloadSpec spec = replayed_workload();
  spec.communication.gradients_kept = CommunicationSpec::Kept::both;
  const double without = kept_segments(spec, inner_stage(3), 4);
  spec.communication.reduce_copy = CommunicationSpec::ReduceCopy::bf16;
  const double weights = 3 * 12.0 * replayed_hidden * replayed_hidden / replayed_tp;
  EXPECT_EQ(replay_allocator(spec, inner_stage(3), 4).gradients.value(), 2 * weights);
  EXPECT_NEAR(kept_segments(spec, inner_stage(3), 4) - without, 2 * weights, 2 * replay_mebi);
}

// With one replica all gradients are joined and cast, with many a part of them.
TEST(AllocatorReplay, AnUpdateJoinsItsShare) {
  WorkloadSpec spec = replayed_workload();
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  spec.training.update_memory = TrainingSpec::UpdateMemory::flat;
  spec.communication.bucket = 500'000'000;
  spec.plan.dp = 1;
  const double alone = kept_segments(spec, inner_stage(6), 2);
  spec.plan.dp = 16;
  EXPECT_LT(kept_segments(spec, inner_stage(6), 2), alone);
}

TEST(AllocatorReplay, SegmentsHoldTheTensors) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = replayed_workload();
    spec.training.micro_batch = *rc::gen::element<std::int64_t>(1, 2, 4);
    spec.communication.scatter_gather = *rc::gen::arbitrary<bool>();
    spec.communication.gradients_kept =
        *rc::gen::element(CommunicationSpec::Kept::accumulated, CommunicationSpec::Kept::both);
    if (*rc::gen::arbitrary<bool>()) spec.training.update_memory = TrainingSpec::UpdateMemory::flat;
    const bool first = *rc::gen::arbitrary<bool>(), last = *rc::gen::arbitrary<bool>();
    const LayerTable::Slice slice{0, *rc::gen::inRange<std::int64_t>(1, 5), first, last, 0};
    const auto in_flight = *rc::gen::inRange<std::int64_t>(1, 9);
    const KeptByAllocator kept = replay_allocator(spec, slice, in_flight);
    RC_ASSERT(kept.reserved >= kept.allocated);
    RC_ASSERT(kept.reserved < 3 * kept.allocated);
    RC_ASSERT(kept.reserved == replay_allocator(spec, slice, in_flight).reserved);
  }));
}

TEST(AllocatorReplay, DeviceHasWhatTheAllocatorKeeps) {
  const WorkloadSpec spec = replayed_workload();
  LayerTable table;
  auto& row = table.slices.emplace_back();
  for (std::int64_t s = 0; s < 8; ++s) row.push_back({12 * s, 12, s == 0, s == 7, 0});
  MemoryBudget budget = stage_memory(spec, table, ClusterSpec{}, Stage{2}, std::vector<int>{6});
  const Bytes before = counted(budget, MemoryCount::device);
  const Bytes tensors = budget.activations + budget.update;
  add_cached(budget, spec, table, Stage{2}, {{6}});
  EXPECT_EQ(budget.cached, replay_allocator(spec, row[2], 6).reserved);
  EXPECT_DOUBLE_EQ(counted(budget, MemoryCount::device).value(),
                   (before - tensors + budget.cached).value());
  WorkloadSpec fused = spec;
  fused.training.attention = TrainingSpec::Attention::fused;
  MemoryBudget unknown = stage_memory(fused, table, ClusterSpec{}, Stage{2}, std::vector<int>{6});
  add_cached(unknown, fused, table, Stage{2}, {{6}});
  EXPECT_EQ(unknown.cached.value(), 0);
}

}  // namespace
}  // namespace stepcast
