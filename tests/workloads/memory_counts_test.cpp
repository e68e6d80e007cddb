#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "known_models.hpp"
#include "stepcast/workloads/memory.hpp"

// What frameworks keep beside the states of the parameters, and what a published number counts.
namespace stepcast {
namespace {

using namespace known_models;
using Recompute = TrainingSpec::Recompute;
using Update = TrainingSpec::UpdateMemory;

constexpr double buffer = 100, reserve = 7000;

WorkloadSpec counted_workload(std::int64_t tp, std::int64_t pp) {
  WorkloadSpec spec;
  spec.model = llama3_70b();
  spec.training.sequence = 4096;
  spec.training.global_batch = 1;
  spec.plan.tp = tp;
  spec.plan.pp = pp;
  return spec;
}

MemoryBudget counted(const WorkloadSpec& spec, std::uint32_t stage = 0, int in_flight = 1) {
  ClusterSpec cluster;
  cluster.device.softmax_state = SoftmaxState::wide;
  cluster.device.memory_capacity = Bytes{80e9};
  cluster.device.memory_reserve = Bytes{reserve};
  cluster.collectives.buffer = Bytes{buffer};
  const std::int64_t stages = spec.plan.pp, layers = spec.model.layers / stages;
  LayerTable table;
  auto& row = table.slices.emplace_back();
  for (std::int64_t s = 0; s < stages; ++s)
    row.push_back({s * layers, layers, s == 0, s == stages - 1, 0});
  return stage_memory(spec, table, cluster, Stage{stage}, std::vector<int>{in_flight});
}

double parameters(const MemoryBudget& memory) { return memory.parameters.value() / 2; }

TEST(Dropout, GivesALayerThe34BytesOfKorthikanti) {
  WorkloadSpec spec = counted_workload(8, 1);
  spec.model = gpt3_175b();
  spec.training.sequence = 2048;
  spec.training.attention = TrainingSpec::Attention::unfused;
  spec.training.dropout = true;
  const double s = 2048, h = 12288, a = 96, t = 8;
  const auto bytes = [&](Recompute mode) { return layer_activations(spec, false, mode).value(); };
  EXPECT_DOUBLE_EQ(bytes(Recompute::none), s * h * (10 + 24 / t + 5 * a * s / (h * t)));
  EXPECT_DOUBLE_EQ(bytes(Recompute::full), 2 * s * h);
  spec.plan.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(bytes(Recompute::none), s * h / t * (34 + 5 * a * s / h));
  EXPECT_DOUBLE_EQ(bytes(Recompute::selective), 34 * s * h / t);
}

TEST(Dropout, KeepsTheMaskOfTheEmbedding) {
  WorkloadSpec spec = counted_workload(8, 2);
  spec.training.recompute = Recompute::full;
  const auto kept = [&](std::uint32_t stage) {
    return (counted(spec, stage, 3).activations - counted(spec, stage, 2).activations).value();
  };
  const double first = kept(0), last = kept(1);
  spec.training.dropout = true;
  EXPECT_DOUBLE_EQ(kept(0), first + 4096 * 8192);
  EXPECT_DOUBLE_EQ(kept(1), last);
  spec.plan.sequence_parallel = true;
  const double with = kept(0);
  spec.training.dropout = false;
  EXPECT_DOUBLE_EQ(with, kept(0) + 4096.0 * 8192 / 8);
}

TEST(GradientsKept, AreTwoBytesMoreAndTheCastOfTheLargestTensor) {
  WorkloadSpec spec = counted_workload(8, 2);
  spec.plan.dp = 4;
  spec.plan.zero = 1;
  const MemoryBudget accumulated = counted(spec);
  spec.communication.gradients_kept = CommunicationSpec::Kept::both;
  const MemoryBudget both = counted(spec);
  EXPECT_DOUBLE_EQ((both.gradients - accumulated.gradients).value(), 2 * parameters(both));
  // of the embedding
  EXPECT_DOUBLE_EQ((both.activations - accumulated.activations).value(), 4.0 * 128256 * 8192 / 8);
  EXPECT_EQ(both.update.value(), 0);
  spec.communication.bucket = 500'000'000;  // the gathers of the update
  EXPECT_EQ(counted(spec).update.value(), 1e9);
}

TEST(GradientsKept, AreReducedAsACopyOfAll) {
  WorkloadSpec spec = counted_workload(8, 2);
  spec.plan.dp = 4;
  spec.plan.zero = 1;
  spec.communication.gradients_kept = CommunicationSpec::Kept::both;
  spec.communication.reduce_copy = CommunicationSpec::ReduceCopy::bf16;
  EXPECT_DOUBLE_EQ(counted(spec).update.value(), 2 * parameters(counted(spec)));
  spec.communication.bucket = 500'000'000;  // gathers come behind it
  EXPECT_DOUBLE_EQ(counted(spec).update.value(), 2 * parameters(counted(spec)));
}

TEST(StandIns, AreOneForEachShapeAndTheHead) {
  WorkloadSpec spec = counted_workload(8, 2);
  const auto more = [&](std::uint32_t stage) {
    spec.communication.stand_ins = CommunicationSpec::StandIns::none;
    const double none = counted(spec, stage).gradients.value();
    spec.communication.stand_ins = CommunicationSpec::StandIns::shapes;
    return counted(spec, stage).gradients.value() - none;
  };
  const double h = 8192, layer = h * (h + 2 * 1024) + h * h + 3 * 28672 * h;
  EXPECT_NEAR(more(0), 2 * layer / 8, 1);
  EXPECT_NEAR(more(1), 2 * (layer + 128256 * h) / 8, 1);
  spec.model = mixtral_8x7b();
  spec.plan.tp = 1;
  spec.plan.ep = 8;
  spec.plan.etp = 1;
  EXPECT_NEAR(more(0), 2.0 * (4096 * (2 * 4096 + 2 * 1024) + 3 * 14336 * 4096), 1);  // one expert
}

TEST(GradientsKept, AreCastWhenNoLayerIsRebuilt) {
  WorkloadSpec spec = counted_workload(8, 1);
  spec.training.recompute = Recompute::full;
  spec.training.micro_batch = 8;  // rebuilds more than the cast
  const Bytes accumulated = counted(spec).activations;
  spec.communication.gradients_kept = CommunicationSpec::Kept::both;
  EXPECT_EQ(counted(spec).activations, accumulated);
  spec.training.micro_batch = 1;
  spec.plan.slices = 4;  // slices share the activations out, not the parameters
  const Bytes cast = counted(spec).activations;
  spec.communication.gradients_kept = CommunicationSpec::Kept::accumulated;
  const double rebuilt = (layer_activations(spec, false, Recompute::none) -
                          layer_activations(spec, false, Recompute::full))
                             .value() /
                         4;
  EXPECT_NEAR((cast - counted(spec).activations).value(), 4.0 * 128256 * 8192 / 8 - rebuilt, 1);
}

TEST(UpdateMemory, FlatIsEightBytesOfTheShareAndABucket) {
  WorkloadSpec spec = counted_workload(8, 2);
  spec.plan.dp = 4;
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  spec.training.update_memory = Update::flat;
  spec.plan.zero = 0;
  const double all = parameters(counted(spec));
  EXPECT_DOUBLE_EQ(counted(spec).update.value(), 8 * all);
  spec.plan.zero = 1;
  EXPECT_DOUBLE_EQ(counted(spec).update.value(), 8 * all / 4);
  spec.communication.bucket = 500'000'000;
  EXPECT_DOUBLE_EQ(counted(spec).update.value(), 8 * all / 4 + 1e9);
}

TEST(UpdateMemory, TensorIsTheLargestOfTheStage) {
  WorkloadSpec spec = counted_workload(8, 4);
  spec.training.update_memory = Update::tensor;
  EXPECT_DOUBLE_EQ(counted(spec, 0).update.value(), 4.0 * 128256 * 8192 / 8);
  EXPECT_DOUBLE_EQ(counted(spec, 1).update.value(), 4.0 * 2 * 28672 * 8192 / 8);  // gate and up
  spec.model = mixtral_8x7b();
  spec.plan.tp = 1;
  spec.plan.ep = 8;
  spec.plan.etp = 1;
  EXPECT_DOUBLE_EQ(counted(spec, 1).update.value(), 4.0 * 2 * 14336 * 4096);
}

TEST(UpdateMemory, MeetsNoActivations) {
  WorkloadSpec spec = counted_workload(8, 2);
  const Bytes peak = counted(spec).peak();
  spec.training.update_memory = Update::tensor;  // less than the activations of 40 layers
  EXPECT_EQ(counted(spec).peak(), peak);
  spec.training.update_memory = Update::flat;
  const MemoryBudget flat = counted(spec);
  EXPECT_GT(flat.update, flat.activations);
  EXPECT_EQ(flat.peak(),
            flat.parameters + flat.gradients + flat.optimizer + flat.update + flat.buffers);
  EXPECT_EQ(flat.passes(), peak);
}

TEST(MemoryCounts, OfTheFirstStepHaveNoMomentsInItsPasses) {
  WorkloadSpec spec = counted_workload(8, 4);
  spec.training.update_memory = Update::tensor;
  const MemoryBudget memory = counted(spec, 1, 2);
  const double weights = parameters(memory), activations = memory.activations.value();
  EXPECT_DOUBLE_EQ(memory.moments.value(), 8 * weights);
  EXPECT_EQ(memory.communicators.value(), 3 * 2 * buffer);
  EXPECT_EQ(memory.buffers, memory.communicators);
  const double update = 18 * weights + memory.update.value();
  EXPECT_NEAR(counted(memory, MemoryCount::first_step).value(),
              std::max(10 * weights + activations, update), 1);
  EXPECT_GT(update, 10 * weights + activations);
  const MemoryBudget many = counted(spec, 1, 200);
  EXPECT_NEAR(counted(many, MemoryCount::first_step).value(),
              10 * weights + many.activations.value(), 1);
}

TEST(MemoryCounts, OfADeviceHaveReserveAndUpdate) {
  WorkloadSpec spec = counted_workload(8, 2);
  spec.training.update_memory = Update::flat;
  const MemoryBudget memory = counted(spec);
  EXPECT_DOUBLE_EQ(counted(memory, MemoryCount::device).value(),
                   memory.passes().value() + memory.update.value() + reserve);
  EXPECT_EQ(counted(memory, MemoryCount::budget), memory.peak());
  EXPECT_EQ(counted(memory, MemoryCount::allocated), memory.peak() - memory.communicators);
}

TEST(MemoryCounts, AreOrdered) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = counted_workload(8, *rc::gen::inRange<std::int64_t>(1, 5));
    spec.plan.dp = 4;
    spec.plan.zero = *rc::gen::inRange<std::int64_t>(0, 4);
    spec.training.dropout = *rc::gen::arbitrary<bool>();
    spec.training.update_memory = *rc::gen::element(Update::in_place, Update::tensor, Update::flat);
    spec.communication.gradients_kept =
        *rc::gen::element(CommunicationSpec::Kept::accumulated, CommunicationSpec::Kept::both);
    const MemoryBudget memory = counted(spec, 0, *rc::gen::inRange(0, 8));
    RC_ASSERT(memory.passes() <= memory.peak());
    RC_ASSERT(counted(memory, MemoryCount::first_step) <= memory.peak() + Bytes{1});
    RC_ASSERT(counted(memory, MemoryCount::allocated) <= memory.peak());
    RC_ASSERT(memory.peak() < counted(memory, MemoryCount::device));
  }));
}

}  // namespace
}  // namespace stepcast
