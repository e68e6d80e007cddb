#include "stepcast/sim/replay/data_plan.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

/// One replica of two context ranks with two slices of two tokens each, two micro-batches.
DataPlan plan_of(std::vector<std::int64_t> documents) {
  DataSpec spec;
  spec.mask = DataSpec::Mask::document;
  spec.packing = "sequential";
  spec.documents.emplace();
  spec.documents->distribution = DocumentSpec::Distribution::file;
  spec.documents->lengths = std::move(documents);
  WorkloadSpec workload;
  workload.training.sequence = 8;
  workload.training.micro_batch = 1;
  workload.plan.cp = 2;
  return *plan_data(spec, workload, 2, Placement(workload.plan));
}

// Documents of 2 and 6 tokens give the slices 4, 4, 12 and 20 pairs: rank 0 has 24 of 40, rank 1
// the rest. One of 8 is even: 4, 12, 20 and 28.
TEST(DataPlan, TheWorstMicroBatchOfAContextRingCounts) {
  EXPECT_DOUBLE_EQ(plan_of({2, 6, 8}).context_imbalance, 1.2);
  EXPECT_DOUBLE_EQ(plan_of({8, 2, 6}).context_imbalance, 1.2);
  EXPECT_DOUBLE_EQ(plan_of({8, 8}).context_imbalance, 1);
}

// 40 of the 64 pairs of a whole sequence, on the ranks of a ring 24 and 16 of 32 each.
TEST(DataPlan, RanksOfAPositionInTheRingShareItsLoads) {
  DataSpec spec;
  spec.mask = DataSpec::Mask::document;
  spec.packing = "sequential";
  spec.documents.emplace();
  spec.documents->distribution = DocumentSpec::Distribution::file;
  spec.documents->lengths = {2, 6, 8};
  WorkloadSpec workload;
  workload.training.sequence = 8;
  workload.training.micro_batch = 1;
  ParallelPlan& plan = workload.plan;
  plan.dp = 2;
  plan.cp = 4;
  plan.context_algorithm = ParallelPlan::ContextAlgorithm::hybrid;
  plan.ulysses_degree = 2;
  const Placement placement(plan);
  const auto pairs = [&] {
    const DataPlan data = *plan_data(spec, workload, 1, placement);
    std::vector<double> of_rank(8);
    for (std::uint32_t r = 0; r < 8; ++r) {
      const Coordinates c = placement.coordinates(Rank{r});
      of_rank[c.dp * 4 + c.cp] = data.loads.sequences[data.loads.of_rank[r]].front().pairs;
    }
    return of_rank;
  };
  EXPECT_EQ(pairs(), (std::vector<double>{0.75, 0.75, 0.5, 0.5, 1, 1, 1, 1}));
  plan.context_algorithm = ParallelPlan::ContextAlgorithm::ulysses;
  EXPECT_EQ(pairs(), (std::vector<double>{0.625, 0.625, 0.625, 0.625, 1, 1, 1, 1}));
  EXPECT_EQ(plan_data(spec, workload, 1, placement)->context_imbalance, 1);
}

TEST(AttentionLoads, MeansAreOverRanksAndMicroBatches) {
  const AttentionLoads loads{{{{0.5, 1}, {0.1, 0.2}}, {{1, 1}, {0.8, 0.6}}}, {0, 0, 1}};
  EXPECT_DOUBLE_EQ(loads.mean_pairs(), (0.6 + 0.6 + 1.8) / 6);
  EXPECT_DOUBLE_EQ(loads.mean_tokens(), (1.2 + 1.2 + 1.6) / 6);
  EXPECT_FALSE(loads.repeats());
  const AttentionLoads even = loads.evened();
  EXPECT_TRUE(even.even());
  EXPECT_EQ(even.sequences.front().size(), 2U);
  EXPECT_EQ(even.of_rank, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_DOUBLE_EQ(even.mean_pairs(), 0.5);
  const AttentionLoads alike{{{{0.5, 1}, {0.5, 1}}, {{1, 1}, {1, 1}}}, {0, 1}};
  EXPECT_TRUE(alike.repeats());
  EXPECT_FALSE(alike.even());
}

TEST(ToldApart, PairsOfNumbersAreTold) {
  using Keys = std::vector<std::uint64_t>;
  EXPECT_EQ(told_apart({}, {7, 7, 7}), Keys{});
  EXPECT_EQ(told_apart({}, {0, 1, 0}), (Keys{0, 1, 0}));
  EXPECT_EQ(told_apart({5, 5, 6}, {1, 1, 1}), (Keys{0, 0, 1}));
  EXPECT_EQ(told_apart({5, 5, 6, 6}, {1, 2, 1, 1}), (Keys{0, 1, 2, 2}));
}

}  // namespace
}  // namespace stepcast
