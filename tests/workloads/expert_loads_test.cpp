#include "stepcast/workloads/expert_loads.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using namespace lowering;
using Distribution = RoutingSpec::Distribution;

WorkloadSpec spec_with(Distribution distribution, std::int64_t ep) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = ep;
  spec.moe.routing.distribution = distribution;
  return spec;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(ExpertLoads, UniformLoadsAreOne) {
  const ExpertLoads loads = expert_loads(spec_with(Distribution::uniform, 4));
  EXPECT_TRUE(loads.even());
  EXPECT_EQ(loads.largest(), 1);
  EXPECT_EQ(loads.of_expert, std::vector<double>(16, 1));
}

// Drawn orders and shares by place are kept from one question to the next.
TEST(ExpertLoads, DoNotDependOnWhatWasAskedBefore) {
  WorkloadSpec spec = spec_with(Distribution::zipf, 4);
  spec.moe.routing.lifetime = 20;
  spec.moe.routing.step = 7;
  const std::vector<double> first = expert_loads(spec).of_expert;
  std::vector<WorkloadSpec> others(5, spec);
  others[0].moe.routing.seed += 1;
  others[1].moe.routing.exponent *= 2;
  others[2].moe.routing.step = 27;
  others[3].moe.routing.step = 8;
  others[4].model.moe->experts = 32;
  for (const WorkloadSpec& other : others) {
    const std::vector<double> its = expert_loads(other).of_expert;
    EXPECT_NE(its, first);
    EXPECT_EQ(expert_loads(spec).of_expert, first);
    EXPECT_EQ(expert_loads(other).of_expert, its);
  }
  EXPECT_NE(expert_loads(spec, 1).of_expert, first);
}

// n experts of one pair each per token are left out by a step of T tokens with (1 - k/n)^T.
TEST(ActiveExperts, AreThoseThatGetAToken) {
  WorkloadSpec spec = spec_with(Distribution::random, 4);
  const auto active = [&] { return active_experts(spec.model, spec.training, spec.moe); };
  EXPECT_EQ(active(), 1);
  spec.training.active_experts = 0.25;
  EXPECT_EQ(active(), 0.25);
  spec.training.active_experts = {};
  spec.training.global_batch = 1;
  spec.training.sequence = 8;
  const double k = static_cast<double>(spec.model.moe->top_k);
  EXPECT_NEAR(active(), 1 - std::pow(1 - k / 16, 8), 1e-12);
  spec.moe.routing.domains = 4;
  spec.moe.routing.step_domains = 2;
  EXPECT_NEAR(active(), 0.5 * (1 - std::pow(1 - k / 8, 8)), 1e-12);
  spec.training.sequence = 1 << 20;
  EXPECT_NEAR(active(), 0.5, 1e-12);
  spec.moe.routing.domains = spec.moe.routing.step_domains = 1;
  spec.moe.routing.distribution = Distribution::file;
  spec.moe.routing.counts = {9, 3, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_NEAR(active(), 14.0 / 16, 1e-12);
}

TEST(ExpertLoads, ADenseModelHasNone) {
  WorkloadSpec spec = workload(small_dense());
  const ExpertLoads loads = expert_loads(spec);
  EXPECT_TRUE(loads.even());
  EXPECT_EQ(loads.rank_imbalance(), 1);
}

TEST(ExpertLoads, ZipfSharesAreItsFormula) {
  WorkloadSpec spec = spec_with(Distribution::zipf, 4);
  spec.moe.routing.exponent = 0.8;
  ExpertLoads loads = expert_loads(spec);
  double sum = 0;
  for (int i = 1; i <= 16; ++i) sum += std::pow(i, -0.8);
  std::ranges::sort(loads.of_expert, std::greater<>{});
  for (int i = 1; i <= 16; ++i)
    EXPECT_NEAR(loads.of_expert[static_cast<std::size_t>(i - 1)], std::pow(i, -0.8) * 16 / sum,
                1e-12);
  EXPECT_NEAR(loads.expert_imbalance(), 16 / sum, 1e-12);
}

TEST(ExpertLoads, TheSeedSaysWhichExpertIsPopular) {
  WorkloadSpec spec = spec_with(Distribution::zipf, 4);
  const ExpertLoads first = expert_loads(spec);
  EXPECT_EQ(first.of_expert, expert_loads(spec).of_expert);
  spec.moe.routing.seed = 2;
  EXPECT_NE(first.of_expert, expert_loads(spec).of_expert);
}

TEST(ExpertLoads, RandomDrawsSpreadAsTheirVariance) {
  WorkloadSpec spec = spec_with(Distribution::random, 16);
  spec.model.moe->experts = 512;
  const double pairs = 2048.0 * 4 * 16 / 512;  // of one expert
  const ExpertLoads loads = expert_loads(spec);
  double variance = 0;
  for (const double load : loads.of_expert) variance += (load - 1) * (load - 1) / 512;
  EXPECT_NEAR(variance * pairs, 1, 0.2);  // 512 draws: three standard deviations of the estimate
}

TEST(ExpertLoads, CapacityDropsWhatExceedsIt) {
  WorkloadSpec spec = spec_with(Distribution::file, 4);
  spec.moe.routing.counts.assign(16, 1);
  spec.moe.routing.counts[5] = 17;  // mean 2
  spec.moe.capacity_factor = 1.5;
  const ExpertLoads loads = expert_loads(spec);
  // 2048 x 4 pairs of 4 ranks over 16 experts: capacity 1.5 x 2048 = 3072, a whole number
  EXPECT_NEAR(*std::ranges::max_element(loads.of_expert), 1.5, 1e-12);
  EXPECT_NEAR(loads.dropped, (8.5 - 1.5) / 16, 1e-12);
}

TEST(ExpertLoads, RanksHoldTheirExperts) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = spec_with(Distribution::file, *rc::gen::element(1, 2, 4, 8, 16));
    for (int i = 0; i < 16; ++i)
      spec.moe.routing.counts.push_back(*rc::gen::inRange(0, 50) + (i == 0 ? 1 : 0));
    spec.moe.placement =
        *rc::gen::element(MoeSpec::Placement::contiguous, MoeSpec::Placement::balanced);
    const ExpertLoads loads = expert_loads(spec);
    RC_ASSERT(std::abs(mean(loads.of_rank) - 1) < 1e-12);
    RC_ASSERT(loads.rank_imbalance() <= loads.expert_imbalance() * (1 + 1e-12));
    for (std::size_t r = 0; r < loads.of_rank.size(); ++r)
      RC_ASSERT(loads.distinct[loads.variant_of[r]] == loads.of_rank[r]);
  }));
}

TEST(ExpertLoads, BalancingGivesEachRankAsManyExperts) {
  const std::vector<double> loads{9, 1, 8, 2, 7, 3, 6, 4};
  const auto rank_of = place_experts(loads, 4, MoeSpec::Placement::balanced);
  std::vector<double> sum(4, 0);
  std::vector<int> held(4, 0);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    sum[rank_of[i]] += loads[i];
    ++held[rank_of[i]];
  }
  EXPECT_EQ(held, std::vector<int>(4, 2));
  EXPECT_EQ(sum, std::vector<double>(4, 10));  // heaviest with lightest
}

// Which of several as heavy ones is copied must be the same everywhere.
TEST(ExpertLoads, OfExpertsAlikeTheFirstIsCopied) {
  const ExpertHolders holders =
      place_copies({1, 4, 4, 1, 4, 4}, 2, MoeSpec::Placement::balanced, 1);
  std::vector<std::size_t> held;
  for (const auto& ranks : holders) held.push_back(ranks.size());
  EXPECT_EQ(held, (std::vector<std::size_t>{1, 2, 2, 1, 1, 1}));
}

// The fullest rank, not the mean one, sets the time of the grouped products.
TEST(ExpertLoads, ProductsOfTheFullestRankTakeLonger) {
  const WorkloadSpec spec = spec_with(Distribution::uniform, 4);
  const DeviceSpec device = plain_device();
  const double once = expert_matmul_time(spec, device, 1).value();
  EXPECT_GT(expert_matmul_time(spec, device, 2).value(), 1.5 * once);
  EXPECT_LT(expert_matmul_time(spec, device, 0.5).value(), once);
}

TEST(ExpertLoads, ProgramsHaveAVariantPerLoad) {
  WorkloadSpec spec = spec_with(Distribution::zipf, 4);
  const ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const StageProgram uneven = lower_stage(spec, layers, cluster, Stage{0});
  const ExpertLoads loads = expert_loads(spec);
  ASSERT_EQ(uneven.variants.size() + 1, loads.distinct.size());
  // what a rank of each load does is what a program of that load alone does
  for (const ChunkProgram& chunk : uneven.chunks)
    for (std::uint32_t v = 0; v + 1 < loads.distinct.size(); ++v) {
      double less = 0, more = 0;
      for (const Instruction& i : chunk.forward)
        if (const auto* run = std::get_if<Compute>(&i)) {
          less += uneven.segment(run->segment, v).device_time();
          more += uneven.segment(run->segment, v + 1).device_time();
        }
      EXPECT_LE(less, more);
    }
  WorkloadSpec even = spec;
  even.moe.routing.distribution = Distribution::uniform;
  EXPECT_EQ(lower_stage(even, layers, cluster, Stage{0}).variants.size(), 0U);
}

// Whether a kernel made of statements pays depends on the tokens, which ranks have more and less
// of.
TEST(ExpertLoads, AFuserJoinsAlikeWhateverARankHasToDo) {
  WorkloadSpec spec = spec_with(Distribution::zipf, 8);
  spec.moe.routing.exponent = 2;
  spec.runtime.fusion = RuntimeSpec::Fusion::dvm;
  spec.runtime.kernels.activation = KernelSpec::Activation::unfused;
  ClusterSpec cluster = plain_cluster();
  cluster.device.efficiency.memory.ramp = Seconds{2e-6};  // one kernel pays for few tokens
  cluster.device.efficiency.memory.activation = 0.3;      // and not for many
  cluster.device.efficiency.memory.backward = 0.5;
  for (const std::int64_t tokens : {64, 256, 1024, 4096, 16384}) {
    spec.training.sequence = tokens;
    const LayerTable layers = assign_layers(spec, cluster);
    const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
    ASSERT_FALSE(program.variants.empty());
    for (const auto& variant : program.variants)
      for (std::size_t s = 0; s < variant.size(); ++s)
        EXPECT_EQ(variant[s].size(), program.segments[s].size()) << tokens;
  }
}

}  // namespace
}  // namespace stepcast
