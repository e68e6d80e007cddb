#include <gtest/gtest.h>

#include <iostream>

#include "random_points.hpp"
#include "small_plans.hpp"

namespace stepcast {
namespace {

constexpr std::size_t compared_points = STEPCAST_PLAN_POINTS;

/// Random points of a space whose keys are all searched.
void expect_ranked(const char* text) {
  const test::PlanFile file(text);
  const PlanSpace space = file.read();
  const auto compared = testing::RandomPoints(space, 20261121).compare(compared_points);
  EXPECT_EQ(compared.simulations.size(), compared_points);
  EXPECT_EQ(compared.failed, 0U);
  EXPECT_TRUE(compared.broken.empty()) << compared.broken.front();
  EXPECT_GT(compared.exchanging, 0U);
  EXPECT_GE(compared.rank_correlation(), 0.95);
  EXPECT_GE(compared.median_unit_bound(), 0.95);
  std::cout << space.points() << " points, rank correlation " << compared.rank_correlation()
            << ", worst estimate " << 100 * compared.worst() << " % off, median bound by units "
            << compared.median_unit_bound() << " of the time alone\n";
}

TEST(PlanPoints, EstimatesOfADenseModelRankAsItsSimulations) {
  expect_ranked(R"(
stepcast: 1
name: dense-points
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/llama2-7b.yaml, layers: 16}
parallel: {tp: search, pp: search, vpp: search, cp: search, zero: search, sequence_parallel: search}
training: {sequence: 4096, global_batch: 64, micro_batch: search, recompute: search}
schedule: {pipeline: search}
runtime: {dispatch: graph_sink}
)");
}

TEST(PlanPoints, EstimatesOfAModelWithExpertsRankAsItsSimulations) {
  expect_ranked(R"(
stepcast: 1
name: expert-points
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/mixtral-8x7b.yaml, layers: 16}
parallel: {tp: search, pp: search, vpp: search, cp: [1, 2, 4], ep: search, etp: search, zero: search,
           sequence_parallel: search}
training: {sequence: 4096, global_batch: 64, micro_batch: search, recompute: search}
schedule: {pipeline: search}
)");
}

}  // namespace
}  // namespace stepcast
