#include "stepcast/workloads/memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "known_models.hpp"

namespace stepcast {
namespace {

using namespace known_models;
using Recompute = TrainingSpec::Recompute;

constexpr double mebibyte = 1048576;

WorkloadSpec budgeted_workload(ModelSpec model, std::int64_t sequence, std::int64_t tp,
                               bool sequence_parallel) {
  WorkloadSpec spec;
  spec.model = std::move(model);
  spec.training.sequence = sequence;
  spec.training.global_batch = 1;
  spec.plan.tp = tp;
  spec.plan.sequence_parallel = sequence_parallel;
  return spec;
}

ClusterSpec device_of(double capacity_gib, double reserve_gib, double buffer) {
  ClusterSpec cluster;
  cluster.device.softmax_state = SoftmaxState::wide;
  cluster.device.memory_capacity = Bytes{capacity_gib * 1024 * mebibyte};
  cluster.device.memory_reserve = Bytes{reserve_gib * 1024 * mebibyte};
  cluster.collectives.buffer = Bytes{buffer};
  return cluster;
}

/// Even spread over chunk * pp + stage; embedding first, head and MTP last.
LayerTable even_layers(const WorkloadSpec& spec) {
  const std::int64_t virtual_stages = spec.plan.pp * spec.plan.vpp;
  LayerTable table;
  std::int64_t first = 0;
  for (std::int64_t chunk = 0; chunk < spec.plan.vpp; ++chunk) {
    auto& row = table.slices.emplace_back();
    for (std::int64_t stage = 0; stage < spec.plan.pp; ++stage) {
      const std::int64_t at = chunk * spec.plan.pp + stage;
      const std::int64_t count = spec.model.layers * (at + 1) / virtual_stages - first;
      row.push_back({first, count, at == 0, at == virtual_stages - 1, 0});
      first += count;
    }
  }
  table.slices.back().back().mtp = spec.model.mtp_layers;
  return table;
}

MemoryBudget budget(const WorkloadSpec& spec, std::uint32_t stage, int in_flight,
                    const ClusterSpec& cluster = device_of(64, 6, 0)) {
  return stage_memory(spec, even_layers(spec), cluster, Stage{stage},
                      std::vector<int>(static_cast<std::size_t>(spec.plan.vpp), in_flight));
}

TEST(LayerActivations, OfTeleChat36B) {
  const WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  const Bytes compact = layer_activations(spec, false, Recompute::none, SoftmaxState::compact);
  const Bytes wide = layer_activations(spec, false, Recompute::none, SoftmaxState::wide);
  EXPECT_NEAR(compact.value() / mebibyte, 220.2, 0.05);
  EXPECT_NEAR((wide - compact).value() / mebibyte, 2.8, 0.05);
  EXPECT_EQ(layer_activations(spec, false, Recompute::none), wide);
}

TEST(LayerActivations, FollowKorthikantiWithoutDropout) {
  // 34 sbh with sequence parallelism, (10 + 24/t) sbh without; two bytes of sbh are dropout masks,
  // and the fused core keeps 4 bytes per head and token instead of 5 a s.
  const double s = 2048, b = 4, h = 12288, a = 96, t = 8;
  WorkloadSpec spec = budgeted_workload(gpt3_175b(), 2048, 8, true);
  spec.training.micro_batch = 4;
  const double softmax = 4 * s * b * a / t;
  const auto bytes = [&](Recompute mode) {
    return layer_activations(spec, false, mode, SoftmaxState::compact).value();
  };
  EXPECT_DOUBLE_EQ(bytes(Recompute::none), 32 * s * b * h / t + softmax);
  EXPECT_DOUBLE_EQ(bytes(Recompute::selective), 32 * s * b * h / t);
  EXPECT_DOUBLE_EQ(bytes(Recompute::full), 2 * s * b * h / t);
  EXPECT_DOUBLE_EQ(bytes(Recompute::table), bytes(Recompute::none));
  spec.plan.sequence_parallel = false;
  EXPECT_DOUBLE_EQ(bytes(Recompute::none), s * b * h * (8 + 24 / t) + softmax);
  EXPECT_DOUBLE_EQ(bytes(Recompute::full), 2 * s * b * h);
}

TEST(LayerActivations, OfLatentAttentionAndExpertsByHand) {
  ModelSpec model = grouped(2, 10, {}, 30, 50);
  model.attention = LatentAttention{4, 6, 5, 3, 2, 7};
  model.moe = ExpertSpec{
      .experts = 8, .top_k = 3, .expert_hidden = 9, .shared_experts = 2, .shared_hidden = 11};
  WorkloadSpec spec = budgeted_workload(model, 64, 2, true);
  const double tokens = 64;
  const double norms = 8 * 10;
  const double attention = 2 * (2 * 6 + 2 * 5 + 2) + 2 * 4 * (2 * (3 + 2) + 2 * 7) + 4 * 4;
  const double experts = 8 * 8 + 2 * 3 * 10 + 6 * 3 * 9 + 2 * 3 * 10 + 6 * 2 * 11;
  const auto bytes = [&](bool moe) {
    return layer_activations(spec, moe, Recompute::none, SoftmaxState::compact).value();
  };
  EXPECT_DOUBLE_EQ(bytes(true), tokens * (norms + attention + experts) / 2);
  EXPECT_DOUBLE_EQ(bytes(false), tokens * (norms + attention + 6 * 30) / 2);
  spec.plan.etp = 2;  // tokens of both members are gathered
  EXPECT_DOUBLE_EQ(bytes(true), tokens * (norms + attention + experts + 2 * 3 * 10) / 2);
  spec.plan.etp = 1;
  spec.plan.cp = 4;
  EXPECT_DOUBLE_EQ(bytes(true), tokens / 4 * (norms + attention + experts) / 2);
}

TEST(LayerActivations, Fp8KeepsTheInputsOfProductsInOneByte) {
  WorkloadSpec dense = budgeted_workload(telechat3_36b(), 8192, 8, true);
  WorkloadSpec latent = budgeted_workload(deepseek_v3(), 4096, 8, true);
  const auto saved = [](WorkloadSpec& spec, bool moe) {
    spec.training.precision = TrainingSpec::Precision::bf16;
    const Bytes bf16 = layer_activations(spec, moe, Recompute::none);
    spec.training.precision = TrainingSpec::Precision::fp8_mixed;
    return (bf16 - layer_activations(spec, moe, Recompute::none)).value();
  };
  const double h = 6144, f = 24576;  // two norm outputs, the core's output, the gated product
  EXPECT_DOUBLE_EQ(saved(dense, false), 8192 * (2 * h + h + f) / 8);
  EXPECT_DOUBLE_EQ(saved(latent, true),
                   4096.0 * (2 * 7168 + 1536 + 512 + 128 * 128 + 8 * 7168 + 8 * 2048 + 2048) / 8);
}

TEST(LayerActivations, ReplicatedKeyValueHeadsAreHeldOnEveryRank) {
  WorkloadSpec few = budgeted_workload(grouped(1, 64, {8, 2, 16}, 64, 10), 32, 8, true);
  WorkloadSpec many = budgeted_workload(grouped(1, 64, {8, 8, 16}, 64, 10), 32, 8, true);
  EXPECT_EQ(layer_activations(few, false, Recompute::none),
            layer_activations(many, false, Recompute::none));
}

TEST(LayerActivations, RecomputeOrdersThem) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec =
        budgeted_workload(*rc::gen::element(telechat3_36b(), telechat3_105b(), gpt3_175b()),
                          *rc::gen::inRange<std::int64_t>(1, 65) * 128,
                          std::int64_t{1} << *rc::gen::inRange(0, 4), *rc::gen::arbitrary<bool>());
    const bool moe = spec.model.moe && *rc::gen::arbitrary<bool>();
    const auto state = *rc::gen::element(SoftmaxState::compact, SoftmaxState::wide);
    const Bytes none = layer_activations(spec, moe, Recompute::none, state);
    const Bytes selective = layer_activations(spec, moe, Recompute::selective, state);
    const Bytes full = layer_activations(spec, moe, Recompute::full, state);
    RC_ASSERT(full < selective);
    RC_ASSERT(selective < none);
    spec.plan.cp = 2;
    RC_ASSERT(layer_activations(spec, moe, Recompute::none, state) == 0.5 * none);
  }));
}

TEST(StageMemory, ParametersOfAllStagesAreThoseOfTheModel) {
  for (const ModelSpec& model : {llama3_70b(), mixtral_8x7b()}) {
    WorkloadSpec spec = budgeted_workload(model, 4096, 1, false);
    spec.plan.pp = 4;
    spec.plan.vpp = 2;
    double sum = 0;
    for (std::uint32_t stage = 0; stage < 4; ++stage)
      sum += budget(spec, stage, 1).parameters.value();
    const double total = 2 * count_parameters(model).total;
    EXPECT_NEAR(sum, total, 1e-9 * total);
  }
}

TEST(StageMemory, TensorAndExpertGroupsSplitTheWeights) {
  WorkloadSpec spec = budgeted_workload(mixtral_8x7b(), 4096, 8, true);
  spec.plan.ep = 8;
  const ParameterCount count = count_parameters(spec.model);
  const double router = 32 * 4096 * 8, norms = 32 * count.norms_per_layer + count.final_norm;
  const double split = (count.total - router - norms) / 8;
  EXPECT_NEAR(budget(spec, 0, 1).parameters.value(), 2 * (split + router + norms), 1);
}

TEST(StageMemory, TiedEmbeddingIsHeldOnBothEnds) {
  WorkloadSpec spec = budgeted_workload(gpt3_175b(), 2048, 1, false);
  const double alone = budget(spec, 0, 1).parameters.value();
  EXPECT_NEAR(alone, 2 * count_parameters(spec.model).total, 1);
  spec.plan.pp = 2;
  const double both = budget(spec, 0, 1).parameters.value() + budget(spec, 1, 1).parameters.value();
  EXPECT_NEAR(both - alone, 2 * count_parameters(spec.model).embedding, 1e6);
}

TEST(StageMemory, MtpModuleBringsItsLayerAndAnEmbedding) {
  WorkloadSpec spec = budgeted_workload(deepseek_v3(), 4096, 1, false);
  spec.plan.pp = 2;
  const MemoryBudget with = budget(spec, 1, 1);
  spec.model.mtp_layers = 0;
  const MemoryBudget without = budget(spec, 1, 1);
  const ParameterCount count = count_parameters(deepseek_v3());
  EXPECT_NEAR((with.parameters - without.parameters).value(), 2 * (count.mtp + count.embedding),
              10);
  EXPECT_GT((with.activations - without.activations).value(),
            layer_activations(spec, true, Recompute::none).value());
}

TEST(StageMemory, FullRecomputeCoversTheLayerOfAnMtpModule) {
  WorkloadSpec spec = budgeted_workload(deepseek_v3(), 4096, 8, true);
  spec.plan.pp = 2;
  spec.training.recompute = Recompute::full;
  const auto layers = static_cast<double>(even_layers(spec).slices[0][1].count);
  const double input = layer_activations(spec, true, Recompute::full).value();
  const double norms = 4096.0 * 8 * 7168 / 8;  // of the module, beside its layer
  const Bytes one = budget(spec, 1, 1).activations, two = budget(spec, 1, 2).activations;
  EXPECT_NEAR((two - one).value(), (layers + 1) * input + norms, 1);
}

TEST(StageMemory, BytesPerParameterFollowZero) {
  WorkloadSpec spec = budgeted_workload(llama3_70b(), 4096, 8, true);
  spec.plan.pp = 4;
  spec.plan.dp = 16;
  spec.plan.cp = 2;
  const double parameters = budget(spec, 1, 1).parameters.value() / 2;
  const auto states = [&](std::int64_t zero) {
    spec.plan.zero = zero;
    const MemoryBudget memory = budget(spec, 1, 1);
    return (memory.parameters + memory.gradients + memory.optimizer).value() / parameters;
  };
  EXPECT_NEAR(states(0), 18, 1e-9);
  EXPECT_NEAR(states(1), 6 + 12.0 / 32, 1e-9);
  EXPECT_NEAR(states(2), 2 + 16.0 / 32, 1e-9);
  EXPECT_NEAR(states(3), 18.0 / 32, 1e-9);
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  EXPECT_NEAR(states(1), 4 + 12.0 / 32, 1e-9);
}

TEST(StageMemory, GatheredFp32WeightsAreThereToBeCast) {
  WorkloadSpec spec = budgeted_workload(llama3_70b(), 4096, 8, true);
  spec.plan.pp = 4;
  spec.plan.dp = 32;
  const double parameters = budget(spec, 1, 1).parameters.value() / 2;
  const double layer = parameters / static_cast<double>(even_layers(spec).slices[0][1].count);
  const auto more = [&](std::int64_t zero, std::int64_t micro_batches) {
    spec.plan.zero = zero;
    spec.training.global_batch = spec.plan.dp * micro_batches;
    spec.training.master_weights = TrainingSpec::MasterWeights::full;
    const double full = budget(spec, 1, 1).peak().value();
    spec.training.master_weights = TrainingSpec::MasterWeights::stored;
    return (budget(spec, 1, 1).peak().value() - full) / parameters;
  };
  EXPECT_NEAR(more(0, 1), 0, 1e-9);
  EXPECT_NEAR(more(0, 2), 0, 1e-9);
  EXPECT_NEAR(more(2, 2), 4 * 31.0 / 32, 1e-9);
  EXPECT_NEAR(more(2, 1), 2 * 4 * layer / parameters, 1e-9);
  EXPECT_NEAR(more(1, 2), 4 * 31.0 / 32, 1e-9);
}

TEST(StageMemory, ExpertsAreShardedOverTheirOwnReplicas) {
  WorkloadSpec spec = budgeted_workload(mixtral_8x7b(), 4096, 1, false);
  spec.plan.dp = 8;
  spec.plan.ep = 4;  // two replicas of each expert
  spec.plan.zero = 1;
  const ParameterCount count = count_parameters(spec.model);
  const double experts = 32 * (count.moe_ffn_per_layer - 4096 * 8);
  EXPECT_NEAR(budget(spec, 0, 1).optimizer.value(),
              12 * ((count.total - experts) / 8 + experts / 4 / 2), 1e3);
}

TEST(StageMemory, ActivationsCountWhatIsInFlight) {
  WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  const double layer = layer_activations(spec, false, Recompute::none).value();
  const auto held = [&](std::vector<int> in_flight) {
    return stage_memory(spec, even_layers(spec), device_of(64, 6, 0), Stage{0}, in_flight)
        .activations.value();
  };
  EXPECT_NEAR(held({3, 2}), 5 * 16 * layer + 3 * 8 * 8192, 1);
  spec.training.recompute = Recompute::full;
  const double input = layer_activations(spec, false, Recompute::full).value();
  EXPECT_NEAR(held({3, 2}), 5 * 16 * input + 3 * 8 * 8192 + layer - input, 1);
  spec.training.recompute = Recompute::table;
  spec.training.recompute_layers = {{14, 14}, {0, 0}};
  EXPECT_NEAR(held({3, 2}),
              3 * (14 * input + 2 * layer) + 2 * 16 * layer + 3 * 8 * 8192 + layer - input, 1);
}

TEST(StageMemory, TheMomentThatHoldsMostBytesCounts) {
  WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  const auto held = [&](const std::vector<std::vector<int>>& moments) {
    return stage_memory(spec, even_layers(spec), device_of(64, 6, 0), Stage{0}, moments)
        .activations;
  };
  EXPECT_EQ(held({{5, 0}, {2, 2}, {0, 4}}), held({{5, 0}}));
  EXPECT_EQ(held({{1, 1}, {2, 2}, {0, 3}}), held({{2, 2}}));
}

// Of 4096 and 2 x 2048 tokens: a held slice counts by its tokens, the rebuilt layer by the longest.
TEST(StageMemory, SlicesCountByTheirTokens) {
  WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  spec.plan.pp = 2;
  spec.training.recompute = Recompute::full;
  spec.plan.slices = 3;
  spec.plan.slice_tokens = {4096, 2048, 2048};
  const double input = layer_activations(spec, false, Recompute::full).value();
  const double layer = layer_activations(spec, false, Recompute::none).value();
  const double two = spec.plan.slice_weight(8192, 0) + spec.plan.slice_weight(8192, 2);
  const std::vector<std::vector<double>> moments{{two}};
  const double held = stage_memory(spec, even_layers(spec), device_of(64, 6, 0), Stage{0}, moments)
                          .activations.value();
  EXPECT_NEAR(held, 0.75 * (32 * input + 8 * 8192) + 0.5 * (layer - input), 1);
}

TEST(StageMemory, LogitsStandOnTheLastStage) {
  WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  spec.plan.pp = 2;
  const double layers = 32 * layer_activations(spec, false, Recompute::none).value();
  const double logits = 8192.0 * 131072 / 8 * 6 + 4.0 * 8192 * 6144 / 8;
  EXPECT_NEAR(budget(spec, 1, 1).activations.value(), layers + logits, 1);
  // Logits, a shifted copy, its cast and logarithms; backward as much.
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::transformers;
  EXPECT_NEAR(budget(spec, 1, 1).activations.value(), layers + logits + 8192.0 * 131072 / 8 * 6, 1);
  spec.training.cross_entropy = TrainingSpec::CrossEntropy::fused;  // passes over BF16 ones
  EXPECT_NEAR(budget(spec, 1, 1).activations.value(), layers + logits - 8192.0 * 131072 / 8 * 4, 1);
}

TEST(StageMemory, EveryCommunicatorHasTwoBuffers) {
  WorkloadSpec spec = budgeted_workload(mixtral_8x7b(), 4096, 1, false);
  const ClusterSpec cluster = device_of(64, 6, 100);
  EXPECT_EQ(budget(spec, 0, 1, cluster).buffers.value(), 0);
  spec.plan.tp = 2;  // world, tensor, and two replicas of each expert
  EXPECT_EQ(budget(spec, 0, 1, cluster).buffers.value(), 3 * 200);
  spec.plan.dp = 4;
  spec.plan.ep = 4;  // and data, expert
  EXPECT_EQ(budget(spec, 0, 1, cluster).buffers.value(), 5 * 200);
  spec.plan.pp = 2;  // and pipeline
  EXPECT_EQ(budget(spec, 0, 1, cluster).buffers.value(), 6 * 200);
  spec.model.tied_embeddings = true;
  EXPECT_EQ(budget(spec, 0, 1, cluster).buffers.value(), 7 * 200);
}

TEST(StageMemory, CapacityLeavesTheReserveOut) {
  const WorkloadSpec spec = budgeted_workload(telechat3_36b(), 8192, 8, true);
  const MemoryBudget memory = budget(spec, 0, 1);
  EXPECT_EQ(memory.capacity.value(), 58.0 * 1024 * mebibyte);
  EXPECT_FALSE(memory.fits());  // 36 billion parameters on 8 devices
  EXPECT_EQ(memory.peak(), memory.parameters + memory.gradients + memory.optimizer +
                               memory.activations + memory.buffers);
}

TEST(StageMemory, NeverShrinksWithMoreInFlight) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = budgeted_workload(
        *rc::gen::element(telechat3_36b(), telechat3_105b(), mixtral_8x7b()), 4096, 4, true);
    spec.plan.pp = *rc::gen::inRange<std::int64_t>(1, 5);
    spec.plan.vpp = *rc::gen::inRange<std::int64_t>(1, 4);
    spec.plan.dp = 4;
    spec.plan.zero = *rc::gen::inRange<std::int64_t>(0, 4);
    spec.training.recompute =
        *rc::gen::element(Recompute::none, Recompute::selective, Recompute::full);
    const auto stage =
        *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(spec.plan.pp));
    const int few = *rc::gen::inRange(0, 8);
    const MemoryBudget less = budget(spec, stage, few), more = budget(spec, stage, few + 1);
    RC_ASSERT(less.activations < more.activations);
    RC_ASSERT(less.parameters == more.parameters);
    const Bytes states = less.parameters + less.gradients + less.optimizer;
    spec.plan.zero = std::min<std::int64_t>(3, spec.plan.zero + 1);
    const MemoryBudget sharded = budget(spec, stage, few);
    RC_ASSERT(sharded.parameters + sharded.gradients + sharded.optimizer <= states);
  }));
}

}  // namespace
}  // namespace stepcast
