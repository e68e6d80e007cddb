#include "stepcast/topology/parallel_plan.hpp"

#include <gtest/gtest.h>

#include "stepcast/topology/placement.hpp"

namespace stepcast {
namespace {

TEST(ParallelPlan, EqualSlicesCutTheSequenceEvenly) {
  ParallelPlan plan;
  plan.slices = 4;
  for (std::int64_t slice = 0; slice < 4; ++slice) {
    EXPECT_EQ(plan.slice_length(4096, slice), 1024);
    EXPECT_EQ(plan.slice_start(4096, slice), 1024 * static_cast<double>(slice));
    EXPECT_EQ(plan.slice_weight(4096, slice), 1);
  }
}

TEST(ParallelPlan, GivenSlicesFollowEachOther) {
  ParallelPlan plan;
  plan.slices = 3;
  plan.slice_tokens = {2048, 1536, 512};
  const std::vector<double> starts{0, 2048, 3584}, weights{1.5, 1.125, 0.375};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto slice = static_cast<std::int64_t>(i);
    EXPECT_EQ(plan.slice_length(4096, slice), static_cast<double>(plan.slice_tokens[i]));
    EXPECT_EQ(plan.slice_start(4096, slice), starts[i]);
    EXPECT_EQ(plan.slice_weight(4096, slice), weights[i]);
  }
}

TEST(ParallelPlan, SizesOfTheWorld) {
  ParallelPlan plan;
  plan.tp = 2, plan.cp = 3, plan.pp = 5, plan.dp = 8, plan.ep = 6, plan.etp = 2;
  EXPECT_EQ(plan.world(), 240);
  EXPECT_EQ(plan.stage_ranks(), 48);
  EXPECT_EQ(plan.edp(), 4);
}

/// Ranks of an expert group, of the part that holds rank 5 and of those like it elsewhere.
struct Cut {
  std::vector<Rank> inner, outer;
  std::uint32_t inner_size, outer_size;
  bool even;
};
Cut cut(ParallelPlan plan, std::int64_t part) {
  plan.expert_part = part;
  const Placement placement(plan);
  if (!placement.cuts_experts_evenly()) return {{}, {}, 0, 0, false};
  const Rank rank{5};
  return {placement.group(GroupKind::expert_inner, rank),
          placement.group(GroupKind::expert_outer, rank),
          placement.group_size(GroupKind::expert_inner),
          placement.group_size(GroupKind::expert_outer), true};
}

TEST(ExpertParts, OfNeighboursAreTheNodes) {
  ParallelPlan plan;
  plan.dp = 16, plan.ep = 8;
  const Cut nodes = cut(plan, 4);
  EXPECT_EQ(nodes.inner, (std::vector<Rank>{{4}, {5}, {6}, {7}}));
  EXPECT_EQ(nodes.outer, (std::vector<Rank>{{1}, {5}}));
  EXPECT_EQ(nodes.inner_size, 4U);
  EXPECT_EQ(nodes.outer_size, 2U);
}

TEST(ExpertParts, OfScatteredRanksAreWhatEachNodeHolds) {
  ParallelPlan plan;
  plan.dp = 16, plan.ep = 8;
  plan.order = {"tp", "cp", "dp", "ep", "pp"};  // members two ranks apart
  const Cut nodes = cut(plan, 8);
  EXPECT_EQ(nodes.inner, (std::vector<Rank>{{1}, {3}, {5}, {7}}));
  EXPECT_EQ(nodes.outer, (std::vector<Rank>{{5}, {13}}));
}

TEST(ExpertParts, AreUnevenWhereAGroupStraddlesNodes) {
  ParallelPlan plan;
  plan.dp = 12, plan.ep = 6;
  EXPECT_FALSE(cut(plan, 4).even);  // 4 + 2, then 2 + 4
  EXPECT_TRUE(cut(plan, 3).even);
  EXPECT_TRUE(cut(plan, 12).even);
}

}  // namespace
}  // namespace stepcast
