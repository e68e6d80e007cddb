#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/lower_stages.hpp"
#include "stepcast/workloads/memory.hpp"
#include "stepcast/workloads/relocation.hpp"

// Loads that change from layer to layer and step to step, copies of experts, and relocation.
namespace stepcast {
namespace {

using namespace lowering;
using Distribution = RoutingSpec::Distribution;
using Placed = MoeSpec::Placement;

/// 16 experts in layers 1 to 7, four of each token.
WorkloadSpec living(Distribution distribution, std::int64_t ep) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = ep;
  spec.moe.routing.distribution = distribution;
  return spec;
}

WorkloadSpec drifting(std::int64_t lifetime, std::int64_t step) {
  WorkloadSpec spec = living(Distribution::zipf, 4);
  spec.moe.routing.lifetime = lifetime;
  spec.moe.routing.step = step;
  return spec;
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

int places_changed(std::int64_t lifetime, std::int64_t step) {
  const auto before = expert_loads(drifting(lifetime, 0)).of_expert;
  const auto after = expert_loads(drifting(lifetime, step)).of_expert;
  int changed = 0;
  for (std::size_t e = 0; e < before.size(); ++e) changed += before[e] != after[e] ? 1 : 0;
  return changed;
}

TEST(LivingLoads, StartWhereLoadsThatStayAre) {
  EXPECT_EQ(expert_loads(drifting(50, 0)).of_expert,
            expert_loads(living(Distribution::zipf, 4)).of_expert);
}

// Which expert is popular drifts; how popular the i-th is does not.
TEST(LivingLoads, KeepTheLawOfTheirDistribution) {
  const auto law = sorted(expert_loads(living(Distribution::zipf, 4)).of_expert);
  EXPECT_TRUE(rc::check([&] {
    const WorkloadSpec spec = drifting(*rc::gen::inRange(1, 400), *rc::gen::inRange(0, 100'000));
    const auto loads = sorted(expert_loads(spec, *rc::gen::inRange(0, 7)).of_expert);
    for (std::size_t i = 0; i < law.size(); ++i) RC_ASSERT(std::abs(loads[i] - law[i]) < 1e-12);
  }));
}

TEST(LivingLoads, DriftLittleInAStepAndMuchInALifetime) {
  EXPECT_LE(places_changed(10'000, 1), 2);
  EXPECT_GE(places_changed(10'000, 10'000), 12);
  EXPECT_GE(places_changed(1, 1), 12);
}

// A process without popularity is no process: the same program, to the bit.
TEST(LivingLoads, UniformOnesAreUniform) {
  WorkloadSpec spec = drifting(7, 23);
  spec.moe.routing.exponent = 0;
  spec.moe.routing.layers = RoutingSpec::Layers::own;
  const LayerLoads loads = layer_loads(spec);
  EXPECT_TRUE(loads.even());
  EXPECT_EQ(loads.fullest(), 1);
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
  spec.moe.routing = {};
  const StageProgram even = lower_stage(spec, layers, cluster, Stage{0});
  EXPECT_TRUE(program.variants.empty());
  EXPECT_EQ(program.executed_flops, even.executed_flops);
  const auto time = [](const StageProgram& p) {
    double seconds = 0;
    for (const Instruction& i : p.chunks.front().forward)
      if (const auto* run = std::get_if<Compute>(&i))
        seconds += p.segments[run->segment].device_time();
    return seconds;
  };
  EXPECT_EQ(time(program), time(even));
}

TEST(LivingLoads, ALogHasStepsOfLayersOfExperts) {
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.moe.routing.layers = RoutingSpec::Layers::own;
  spec.moe.routing.step = 2;
  const std::size_t layers = count_moe_layers(spec.model);
  ASSERT_EQ(layers, 7U);
  for (std::size_t row = 0; row < 3 * layers; ++row)  // row r: expert r % 16 has all
    for (std::size_t e = 0; e < 16; ++e) spec.moe.routing.counts.push_back(e == row % 16 ? 1 : 0);
  const LayerLoads loads = layer_loads(spec);
  ASSERT_EQ(loads.layers.size(), layers);
  for (std::size_t layer = 0; layer < layers; ++layer)
    EXPECT_EQ(loads.of(layer).of_expert[(2 * layers + layer) % 16], 16);
  // experts 14 and 15 are on the second rank, 0 to 4 on the first
  EXPECT_EQ(loads.of(0).of_rank, (std::vector<double>{0, 2}));
  EXPECT_EQ(loads.of(6).of_rank, (std::vector<double>{2, 0}));
  EXPECT_NEAR(loads.fullest(), 2 * 5.0 / 7, 1e-12);
  EXPECT_EQ(loads.rank_imbalance(), 2);
}

// Beyond the layers for which a word of the counter has room, too.
TEST(LivingLoads, NoLayerIsAnotherOneAtAnotherTime) {
  for (const auto distribution : {Distribution::zipf, Distribution::random}) {
    WorkloadSpec spec = living(distribution, 4);
    spec.moe.routing.lifetime = 1;
    const auto at = [&](std::size_t layer, std::int64_t step) {
      spec.moe.routing.step = step;
      return expert_loads(spec, layer).of_expert;
    };
    EXPECT_NE(at(4096, 0), at(0, 1));
    EXPECT_NE(at(4096, 1), at(0, 1));
    EXPECT_NE(at(4096, 0), at(0, 0));
    EXPECT_NE(at(8192, 0), at(4096, 0));
  }
}

// Each layer has its own experts that get a token; `routed` is their mean over the layers.
TEST(LivingLoads, ActiveExpertsAreThoseOfAllLayers) {
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.moe.routing.layers = RoutingSpec::Layers::own;
  spec.training.active_experts.reset();
  const auto active = [&](std::size_t narrow) {
    spec.moe.routing.counts.clear();
    for (std::size_t layer = 0; layer < 7; ++layer)  // in one of them four experts get all
      for (std::size_t e = 0; e < 16; ++e)
        spec.moe.routing.counts.push_back(layer != narrow || e < 4 ? 1 : 0);
    return active_experts(spec.model, spec.training, spec.moe);
  };
  EXPECT_NEAR(active(0), active(6), 1e-12);
  EXPECT_NEAR(active(0), (6 + 4.0 / 16) / 7, 1e-9);
}

// What layers work on adds up over the ranks, whoever has how much of it.
TEST(LivingLoads, TokensAreKept) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = drifting(20, *rc::gen::inRange(0, 200));
    spec.plan.dp = spec.plan.ep = *rc::gen::element(2, 4, 8);
    spec.moe.routing.layers =
        *rc::gen::element(RoutingSpec::Layers::shared, RoutingSpec::Layers::own);
    spec.moe.placement = *rc::gen::element(Placed::contiguous, Placed::balanced);
    spec.moe.spare_experts = *rc::gen::inRange(0, 4);
    spec.moe.relocation.every = 10;
    spec.moe.relocation.history = *rc::gen::inRange(1, 12);
    const ClusterSpec cluster = plain_cluster();
    const LayerTable layers = assign_layers(spec, cluster);
    const double flops = lower_stage(spec, layers, cluster, Stage{0}).executed_flops;
    const LayerLoads loads = layer_loads(spec);
    for (const ExpertLoads& of_layer : loads.layers)
      RC_ASSERT(std::abs(sum(of_layer.of_rank) - static_cast<double>(spec.plan.ep)) < 1e-9);
    WorkloadSpec even = spec;
    even.moe = {};
    const double evenly = lower_stage(even, layers, cluster, Stage{0}).executed_flops;
    RC_ASSERT(std::abs(flops - evenly) < 1e-9 * evenly);
  }));
}

TEST(ExpertCopies, HalveTheLoadOfTheHottest) {
  // the place of the second rank helps expert 0, that of the first one of the second rank's
  const std::vector<double> loads{8, 1, 1, 1, 1, 1, 1, 1};
  const ExpertHolders holders = place_copies(loads, 2, Placed::contiguous, 1);
  EXPECT_EQ(holders[0], (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(holders[4], (std::vector<std::uint32_t>{1, 0}));
  for (const std::size_t e : {1, 2, 3, 5, 6, 7}) EXPECT_EQ(holders[e].size(), 1U);
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.model.moe->experts = 8;
  spec.moe.routing.counts = loads;
  EXPECT_EQ(expert_loads(spec).of_rank, (std::vector<double>{22.0 / 15, 8.0 / 15}));
  spec.moe.spare_experts = 1;  // 4 + 3 + 0.5 and 4 + 3 + 0.5 of 15
  for (const double load : expert_loads(spec).of_rank) EXPECT_NEAR(load, 1, 1e-12);
}

TEST(ExpertCopies, TwoExpertsOnTwoRanksAreEven) {
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.model.moe->experts = 2;
  spec.model.moe->top_k = 1;
  spec.moe.routing.counts = {3, 1};
  EXPECT_EQ(expert_loads(spec).of_rank, (std::vector<double>{1.5, 0.5}));
  spec.moe.spare_experts = 1;
  EXPECT_EQ(expert_loads(spec).of_rank, (std::vector<double>{1, 1}));
  EXPECT_EQ(copied_experts(expert_loads(spec).holders, 2), (std::vector<double>{1, 1}));
}

TEST(ExpertCopies, FillTheirPlacesOnDifferentRanks) {
  EXPECT_TRUE(rc::check([] {
    const auto ranks = static_cast<std::uint32_t>(*rc::gen::element(2, 4, 8));
    const std::int64_t spare = *rc::gen::inRange(0, 5);
    const auto placement = *rc::gen::element(Placed::contiguous, Placed::balanced);
    std::vector<double> loads;
    for (int e = 0; e < 16; ++e) loads.push_back(*rc::gen::inRange(0, 100));
    const ExpertHolders holders = place_copies(loads, ranks, placement, spare);
    std::vector<std::int64_t> held(ranks, 0);
    std::size_t copies = 0;
    for (auto of_expert : holders) {
      RC_ASSERT(!of_expert.empty());
      for (const std::uint32_t rank : of_expert) ++held[rank];
      copies += of_expert.size();
      std::ranges::sort(of_expert);
      RC_ASSERT(std::ranges::adjacent_find(of_expert) == of_expert.end());
    }
    for (const std::int64_t count : held) RC_ASSERT(count <= 16 / ranks + spare);
    const auto places = static_cast<std::size_t>(16 + spare * ranks);
    RC_ASSERT(copies <= places && copies <= 16 * ranks);
    if (placement == Placed::contiguous && 16 / ranks + spare <= 16) RC_ASSERT(copies == places);
  }));
}

TEST(LayerLoads, GiveTheSameWhereTheyAreKnown) {
  const WorkloadSpec spec = living(Distribution::zipf, 2);
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const LayerLoads loads = layer_loads(spec);
  const std::vector<std::vector<double>> moments{{2}};
  EXPECT_GT(loads.fullest(), 1);
  EXPECT_EQ(stage_memory(spec, layers, cluster, Stage{0}, moments, loads.fullest()).activations,
            stage_memory(spec, layers, cluster, Stage{0}, moments).activations);
  const auto times = [](const StageProgram& program) {
    std::vector<double> all;
    for (const Segment& segment : program.segments) all.push_back(segment.device_time());
    return all;
  };
  EXPECT_EQ(times(lower_stages(spec, layers, cluster, loads).front()),
            times(lower_stage(spec, layers, cluster, Stage{0})));
}

TEST(ExpertCopies, MoveWeightsThereAndGradientsBack) {
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.model.moe->experts = 2;
  spec.model.moe->top_k = 1;
  spec.moe.routing.counts = {3, 1};
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const std::vector<int> in_flight{1};
  const MemoryBudget without = stage_memory(spec, layers, cluster, Stage{0}, in_flight);
  spec.moe.spare_experts = 1;
  const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
  const double expert = 3 * 1024.0 * 512;  // gate, up and down projection
  std::vector<double> bytes;
  for (const StageCall& call : program.calls)
    if (call.name == weights_of_copies || call.name == "gradients of expert copies")
      bytes.push_back(busiest_rank(call, 2).value());
  EXPECT_EQ(bytes, (std::vector<double>{7 * 2 * expert, 7 * 4 * expert}));
  const MemoryBudget with = stage_memory(spec, layers, cluster, Stage{0}, in_flight);
  EXPECT_EQ((with.parameters - without.parameters).value(), 7 * 2 * expert);
  EXPECT_EQ((with.gradients - without.gradients).value(), 7 * 4 * expert);
  EXPECT_EQ(with.optimizer, without.optimizer);
}

TEST(ExpertCopies, GetStoredWeightsInFp32) {
  WorkloadSpec spec = living(Distribution::file, 2);
  spec.model.moe->experts = 2;
  spec.model.moe->top_k = 1;
  spec.moe.routing.counts = {3, 1};
  spec.training.master_weights = TrainingSpec::MasterWeights::stored;
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const auto held = [&] {
    return stage_memory(spec, layers, cluster, Stage{0}, std::vector<int>{1}).parameters.value();
  };
  const double without = held();
  spec.moe.spare_experts = 1;
  const double expert = 3 * 1024.0 * 512;
  const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
  const auto call = std::ranges::find(program.calls, weights_of_copies, &StageCall::name);
  ASSERT_NE(call, program.calls.end());
  EXPECT_EQ(busiest_rank(*call, 2).value(), 7 * 4 * expert);
  EXPECT_EQ(held() - without, 7 * (2 + 4) * expert);
}

TEST(Relocation, MovesWhatChangesItsRank) {
  const ExpertHolders before{{0}, {0}, {1}, {1}};
  EXPECT_EQ(moved_experts(before, before, 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(moved_experts(before, {{0}, {1}, {1}, {0}}, 2), (std::vector<double>{1, 1}));
  // the same parts under other names
  EXPECT_EQ(moved_experts(before, {{1}, {1}, {0}, {0}}, 2), (std::vector<double>{0, 0}));
}

TEST(Relocation, IsDueAtMultiplesOfItsInterval) {
  WorkloadSpec spec = drifting(10, 30);
  spec.moe.placement = Placed::balanced;
  spec.moe.relocation.every = 15;
  const LayerTable layers = assign_layers(spec, plain_cluster());
  const StageCall call = relocation_call(spec, layers, Stage{0});
  const std::vector<double> moved = relocated_experts(spec, 0);
  ASSERT_GT(sum(moved), 0);
  // in seven layers with one popularity: weights, master weights and moments, which nobody shares
  EXPECT_NEAR(busiest_rank(call, 4).value(),
              7 * (2 + 12) * 3 * 1024.0 * 512 * std::ranges::max(moved), 1);
  spec.plan.zero = 1;
  spec.plan.dp = 8;
  EXPECT_NEAR(busiest_rank(relocation_call(spec, layers, Stage{0}), 4).value(),
              7 * (2 + 6) * 3 * 1024.0 * 512 * std::ranges::max(moved), 1);
  // FP32 weights, whole, and the moments
  spec.training.master_weights = TrainingSpec::MasterWeights::stored;
  EXPECT_NEAR(busiest_rank(relocation_call(spec, layers, Stage{0}), 4).value(),
              7 * (4 + 4) * 3 * 1024.0 * 512 * std::ranges::max(moved), 1);
  spec.plan.zero = 0;
  EXPECT_NEAR(busiest_rank(relocation_call(spec, layers, Stage{0}), 4).value(),
              7 * (4 + 8) * 3 * 1024.0 * 512 * std::ranges::max(moved), 1);
  spec.moe.routing.step = 31;
  EXPECT_EQ(sum(relocated_experts(spec, 0)), 0);
  EXPECT_EQ(relocation_call(spec, layers, Stage{0}).call.bytes, Bytes{0});
  spec.moe.routing.step = 0;
  EXPECT_EQ(sum(relocated_experts(spec, 0)), 0);
}

// Placed by what was seen, experts are as balanced as if the loads had stayed; the longer ago, the
// less.
TEST(Relocation, FollowsTheLoads) {
  const auto imbalance = [](std::optional<std::int64_t> every) {
    double worst = 0;
    for (std::int64_t step = 1; step <= 200; step += 7) {
      WorkloadSpec spec = drifting(100, step);
      spec.moe.placement = Placed::balanced;
      spec.moe.relocation.every = every;
      worst += expert_loads(spec).rank_imbalance() / 29;
    }
    return worst;
  };
  WorkloadSpec stays = living(Distribution::zipf, 4);
  stays.moe.placement = Placed::balanced;
  const double known = expert_loads(stays).rank_imbalance();
  EXPECT_LT(known, imbalance(1) * (1 + 1e-12));
  EXPECT_LT(imbalance(1), imbalance(50));
  EXPECT_LT(imbalance(50), imbalance({}));
}

}  // namespace
}  // namespace stepcast
