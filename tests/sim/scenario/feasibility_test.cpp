#include "stepcast/sim/scenario/feasibility.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

ParallelPlan plan(std::int64_t tp, std::int64_t cp = 1, std::int64_t pp = 1, std::int64_t dp = 1) {
  ParallelPlan result;
  result.tp = tp, result.cp = cp, result.pp = pp, result.dp = dp;
  return result;
}

ParallelPlan experts(std::int64_t ep, std::int64_t etp = 1, std::int64_t dp = 8) {
  ParallelPlan result = plan(1, 1, 1, dp);
  result.ep = ep, result.etp = etp;
  return result;
}

TEST(Feasibility, TensorRanksShareDevicesHeadsAndWidth) {
  EXPECT_FALSE(devices_misfit(24, plan(2, 3, 4)));
  EXPECT_TRUE(devices_misfit(36, plan(2, 3, 4)));
  ModelSpec model;
  model.attention = GroupedQueryAttention{24, 4, 128};
  model.ffn.hidden = 36;
  EXPECT_FALSE(heads_misfit(model, plan(8)));
  EXPECT_TRUE(heads_misfit(model, plan(9)));
  EXPECT_FALSE(key_value_misfit(model, plan(2)));
  EXPECT_FALSE(key_value_misfit(model, plan(12)));  // three ranks hold a copy each
  EXPECT_TRUE(key_value_misfit(model, plan(6)));
  EXPECT_FALSE(width_misfit(model, plan(9)));
  EXPECT_TRUE(width_misfit(model, plan(8)));
  model.attention = LatentAttention{.heads = 24};
  EXPECT_FALSE(key_value_misfit(model, plan(6)));
  EXPECT_TRUE(heads_misfit(model, plan(16)));
}

TEST(Feasibility, EveryChunkHasALayer) {
  ModelSpec model;
  model.layers = 8;
  EXPECT_FALSE(chunks_misfit(model, {ChunkPlacement::loop, 8, 1}));
  EXPECT_STREQ(chunks_misfit(model, {ChunkPlacement::loop, 9, 1}), "more stages than layers");
  EXPECT_FALSE(chunks_misfit(model, {ChunkPlacement::loop, 4, 2}));
  EXPECT_STREQ(chunks_misfit(model, {ChunkPlacement::loop, 3, 3}), "more chunks than layers");
}

TEST(Feasibility, ASequenceIsCutIntoWholeTokens) {
  TrainingSpec training;
  training.sequence = 12;
  ParallelPlan ring = plan(1, 4);
  EXPECT_EQ(parts_per_context_rank(ring), 2);
  EXPECT_EQ(parts_per_context_rank(plan(1)), 1);
  EXPECT_STREQ(context_misfit(training, ring), "2*cp does not divide the sequence");
  EXPECT_STREQ(context_misfit(training, plan(1, 5)), "cp does not divide the sequence");
  EXPECT_FALSE(context_misfit(training, plan(1, 3)));
  EXPECT_FALSE(context_misfit(training, plan(1, 2)));
  ring.context_algorithm = ParallelPlan::ContextAlgorithm::ulysses;
  EXPECT_FALSE(context_misfit(training, ring));
  ParallelPlan both = plan(2, 2);
  EXPECT_FALSE(sequence_parallel_misfit(training, plan(8)));
  both.sequence_parallel = true;
  EXPECT_FALSE(sequence_parallel_misfit(training, both));
  both.tp = 4;  // 8 parts of 12 tokens
  EXPECT_TRUE(sequence_parallel_misfit(training, both));
  EXPECT_FALSE(sliced_context_misfit(1, plan(1, 2)));
  EXPECT_FALSE(sliced_context_misfit(2, plan(1)));
  EXPECT_TRUE(sliced_context_misfit(2, plan(1, 2)));
  EXPECT_FALSE(slices_misfit(1, training, plan(5)));
  EXPECT_FALSE(slices_misfit(6, training, plan(5)));
  EXPECT_TRUE(slices_misfit(5, training, plan(1)));
  both = plan(3);
  both.sequence_parallel = true;
  EXPECT_FALSE(slices_misfit(4, training, both));
  EXPECT_TRUE(slices_misfit(6, training, both));
}

TEST(Feasibility, ABatchIsWholeMicroBatches) {
  TrainingSpec training;
  training.global_batch = 24;
  training.micro_batch = 2;
  EXPECT_FALSE(batch_misfit(training, plan(1, 1, 1, 12)));
  EXPECT_TRUE(batch_misfit(training, plan(1, 1, 1, 8)));
}

TEST(Feasibility, ExpertsAreSpreadOverTheRanksOfAStage) {
  EXPECT_FALSE(no_experts_misfit(experts(1)));
  EXPECT_TRUE(no_experts_misfit(experts(2)));
  EXPECT_TRUE(no_experts_misfit(experts(1, 2)));
  ExpertSpec spec;
  spec.experts = 12;
  spec.expert_hidden = 10;
  EXPECT_FALSE(experts_misfit(spec, experts(4)));
  EXPECT_TRUE(experts_misfit(spec, experts(8)));
  EXPECT_FALSE(expert_width_misfit(spec, experts(1, 5)));
  EXPECT_TRUE(expert_width_misfit(spec, experts(1, 4)));
  EXPECT_FALSE(expert_ranks_misfit(experts(4, 2)));
  EXPECT_TRUE(expert_ranks_misfit(experts(4, 3)));
  ParallelPlan cut = experts(6, 1, 12);
  EXPECT_FALSE(expert_parts_misfit(cut));
  cut.expert_part = 3;
  EXPECT_FALSE(expert_parts_misfit(cut));
  cut.expert_part = 4;
  EXPECT_TRUE(expert_parts_misfit(cut));
}

TEST(Feasibility, WholeRowsNeedTensorRanksThatShareExperts) {
  MoeSpec moe;
  EXPECT_FALSE(whole_rows_misfit(moe, experts(1)));
  moe.group_wise_a2a = false;
  ParallelPlan shared = experts(2, 2);
  shared.tp = 2;
  EXPECT_FALSE(whole_rows_misfit(moe, shared));
  ParallelPlan whole = shared, lone = shared, wide = shared;
  whole.etp = 1;
  lone.ep = 1;
  wide.tp = 4;
  for (const ParallelPlan& plan : {whole, lone, wide}) EXPECT_TRUE(whole_rows_misfit(moe, plan));
}

TEST(Feasibility, OverlapsNeedWhatTheyHide) {
  using Overlap = MoeSpec::Overlap;
  MoeSpec moe;
  const auto with = [&](Overlap overlap) {
    moe.overlap = overlap;
    return moe;
  };
  EXPECT_FALSE(tiles_misfit(with(Overlap::tiles), experts(2)));
  EXPECT_TRUE(tiles_misfit(with(Overlap::tiles), experts(2, 2)));
  EXPECT_FALSE(tiles_misfit(with(Overlap::chunks), experts(2, 2)));
  EXPECT_FALSE(paired_exchange_misfit(with(Overlap::fb_pair), experts(2)));
  EXPECT_TRUE(paired_exchange_misfit(with(Overlap::fb_pair), experts(1)));
  ParallelPlan sharded = experts(2);
  sharded.zero = 1;
  EXPECT_FALSE(paired_gradients_misfit(with(Overlap::fb_pair), sharded));
  sharded.zero = 2;
  EXPECT_TRUE(paired_gradients_misfit(with(Overlap::fb_pair), sharded));
  EXPECT_FALSE(paired_gradients_misfit(with(Overlap::none), sharded));
  for (const Overlap idle : {Overlap::shared_expert, Overlap::chunks, Overlap::tiles}) {
    EXPECT_FALSE(idle_overlap_misfit(with(idle), experts(2)));
    EXPECT_TRUE(idle_overlap_misfit(with(idle), experts(1)));
  }
  EXPECT_FALSE(idle_overlap_misfit(with(Overlap::none), experts(1)));
}

TEST(Feasibility, GathersOfOneByteNeedRanksThatShare) {
  CommunicationSpec communication;
  ModelSpec dense, moe;
  moe.moe.emplace();
  ParallelPlan lone = plan(2);  // both tensor ranks hold all experts
  EXPECT_FALSE(lone_gather_misfit(communication, dense, lone));
  communication.gather_precision = CommunicationSpec::GatherPrecision::fp8;
  EXPECT_TRUE(lone_gather_misfit(communication, dense, lone));
  EXPECT_FALSE(lone_gather_misfit(communication, moe, lone));
  EXPECT_FALSE(lone_gather_misfit(communication, dense, plan(2, 2)));
  EXPECT_FALSE(lone_gather_misfit(communication, dense, plan(2, 1, 1, 2)));
  EXPECT_FALSE(lone_gather_misfit(communication, moe, experts(8)));  // the dense part
  lone.ep = 2;
  EXPECT_TRUE(lone_gather_misfit(communication, moe, lone));
  lone.zero = 0;  // which another rule refuses
  EXPECT_FALSE(lone_gather_misfit(communication, moe, lone));
  EXPECT_TRUE(idle_gather_precision_misfit(communication, lone));
}

TEST(Feasibility, WaysOfTokensNeedTokensOnTheirWay) {
  MoeSpec plain, moe;
  moe.dispatch = MoeSpec::Dispatch::allgather;
  moe.wire = MoeSpec::Wire::fp8;
  moe.placement = MoeSpec::Placement::balanced;
  for (const ParallelPlan& lone : {experts(1), experts(1, 2), experts(2)}) {
    EXPECT_FALSE(idle_dispatch_misfit(plain, lone));
    EXPECT_FALSE(idle_wire_misfit(plain, lone));
    EXPECT_FALSE(idle_placement_misfit(plain, lone));
    const bool travel = lone.ep > 1 || lone.etp > 1;  // tensor ranks gather their tokens
    EXPECT_EQ(idle_dispatch_misfit(moe, lone) == nullptr, travel);
    EXPECT_EQ(idle_wire_misfit(moe, lone) == nullptr, travel);
    EXPECT_EQ(idle_placement_misfit(moe, lone) == nullptr, lone.ep > 1);
  }
  moe.dispatch = MoeSpec::Dispatch::two_hop;
  EXPECT_TRUE(idle_dispatch_misfit(moe, experts(1, 2)));
  CommunicationSpec communication;
  EXPECT_FALSE(idle_tensor_overlap_misfit(communication, plan(1)));
  communication.tensor_chunks = 2;
  EXPECT_TRUE(idle_tensor_overlap_misfit(communication, plan(1)));
  EXPECT_FALSE(idle_tensor_overlap_misfit(communication, plan(2)));
}

}  // namespace
}  // namespace stepcast
