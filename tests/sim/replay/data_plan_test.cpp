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

}  // namespace
}  // namespace stepcast
