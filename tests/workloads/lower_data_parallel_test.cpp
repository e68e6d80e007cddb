#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "replicated_steps.hpp"

namespace stepcast {
namespace {

using namespace lowering;

TEST(Lower, ReplicasExchangeTheirParametersOncePerStep) {
  for (const bool overlap : {true, false})
    for (const std::int64_t zero : {0, 1}) {
      const WorkloadSpec spec = replicated(zero, overlap);
      const double parameters = count_parameters(spec.model).total;
      const StageProgram program = lower_all(spec)[0];
      const Instructions code = step(program, 3);
      const auto bytes = [&](CollectiveKind kind) {
        return bytes_of(program, code, GroupKind::dense_data, kind);
      };
      EXPECT_NEAR(bytes(CollectiveKind::all_reduce), zero == 0 ? 4 * parameters : 0, 1);
      EXPECT_NEAR(bytes(CollectiveKind::reduce_scatter), zero > 0 ? 4 * parameters : 0, 1);
      EXPECT_NEAR(bytes(CollectiveKind::all_gather), zero > 0 ? 2 * parameters : 0, 1);
      const double in_backward = bytes_of(program, program.chunks[0].last_backward,
                                          GroupKind::dense_data, CollectiveKind::reduce_scatter);
      EXPECT_EQ(in_backward > 0, overlap && zero > 0);
      EXPECT_EQ(bytes_of(program, program.prologue, GroupKind::dense_data,
                         CollectiveKind::all_gather) > 0,
                overlap && zero > 0);
    }
}

TEST(Lower, GathersCanStayBehindTheUpdateWhileReductionsOverlap) {
  WorkloadSpec spec = replicated(1, true);
  const StageProgram both = lower_all(spec)[0];
  spec.communication.gather_overlap = false;
  const StageProgram reductions = lower_all(spec)[0];
  const auto gathered = [](const StageProgram& p, const Instructions& code) {
    return bytes_of(p, code, GroupKind::dense_data, CollectiveKind::all_gather);
  };
  EXPECT_EQ(gathered(reductions, reductions.prologue), 0);
  EXPECT_NEAR(gathered(reductions, reductions.epilogue), gathered(both, both.prologue), 1);
  const auto reduced = [](const StageProgram& p) {
    return bytes_of(p, p.chunks[0].last_backward, GroupKind::dense_data,
                    CollectiveKind::reduce_scatter);
  };
  EXPECT_GT(reduced(both), 0);
  EXPECT_EQ(reduced(reductions), reduced(both));
}

/// What the compute stream does around collectives of sharded data, a letter each: gather, reduce,
/// wait for a gather or for a reduction (w, v), compute.
std::string around_collectives(const StageProgram& program, const Instructions& code) {
  std::map<std::uint32_t, bool> gathers;  // by slot
  std::string out;
  for (const Instruction& instruction : code) {
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      const StageCall& target = program.calls[call->call];
      if (target.group != GroupKind::dense_data) continue;
      gathers[call->slot] = target.call.kind == CollectiveKind::all_gather;
      out += gathers[call->slot] ? 'g' : 'r';
    } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
      const auto known = gathers.find(wait->slot);
      if (known != gathers.end()) out += known->second ? 'w' : 'v';
    } else if (std::holds_alternative<Compute>(instruction) && !out.ends_with('c')) {
      out += 'c';
    }
  }
  return out;
}

TEST(Lower, OneWorkQueueLetsNothingStartBeforeTheCollectiveIssuedBeforeIt) {
  WorkloadSpec spec = replicated(3, true);
  spec.model.layers = 3;
  const StageProgram apart = lower_all(spec)[0];
  EXPECT_EQ(around_collectives(apart, apart.chunks[0].backward), "ggwcrgwcrgwcrgwcrwcr");
  spec.runtime.start_order = RuntimeSpec::StartOrder::as_issued;
  const StageProgram one = lower_all(spec)[0];
  // the next gather waits for the reduction before it, and so does what is computed behind both
  EXPECT_EQ(around_collectives(one, one.chunks[0].backward), "ggwwcrwgvwcrwgvwcrwgvwcrwwcrv");
}

TEST(Lower, OneWorkQueueOnlyAddsWaits) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_workload();
    const std::vector<StageProgram> apart = lower_all(spec);
    spec.runtime.start_order = RuntimeSpec::StartOrder::as_issued;
    const std::vector<StageProgram> one = lower_all(spec);
    for (std::size_t stage = 0; stage < apart.size(); ++stage) {
      check_slots(one[stage], step(one[stage], 2));
      const auto without_waits = [](Instructions code) {
        std::erase_if(code, [](const Instruction& i) { return std::holds_alternative<Wait>(i); });
        return code.size();
      };
      const Instructions before = step(apart[stage], 2), after = step(one[stage], 2);
      RC_ASSERT(without_waits(before) == without_waits(after));
      RC_ASSERT(before.size() <= after.size());
    }
  }));
}

TEST(Lower, OnlyTheFirstChunkOfAStageHasBuckets) {
  WorkloadSpec spec = replicated(1, true);
  spec.model.layers = 4;
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  const StageProgram program = lower_all(spec)[0];
  const auto reductions = [&](const ChunkProgram& chunk) {
    return std::ranges::count(around_collectives(program, chunk.last_backward), 'r');
  };
  EXPECT_GT(reductions(program.chunks[0]), 1);
  EXPECT_EQ(reductions(program.chunks[1]), 1);
}

/// Bytes of the largest reduction of a group.
double largest_reduction(const StageProgram& program, GroupKind group) {
  Bytes largest{0};
  for (const StageCall& call : program.calls)
    if (call.group == group && call.call.kind == CollectiveKind::reduce_scatter)
      largest = std::max(largest, call.call.bytes);
  return largest.value();
}

TEST(Lower, BucketsCutNoMatrixOfAnExpert) {
  WorkloadSpec spec = workload(known_models::deepseek_v3());
  spec.model.moe->expert_hidden = 16384;
  spec.plan.dp = 8;
  spec.plan.ep = 2;
  const double matrix = 2.0 * 7168 * 16384;
  EXPECT_EQ(largest_reduction(lower_all(spec)[0], GroupKind::expert_data), 4 * matrix);
}

TEST(Lower, BucketsGrowWithTheReplicasOfWhatTheyHold) {
  WorkloadSpec spec = workload(known_models::deepseek_v3());
  const auto bucket = [&](std::int64_t dp, std::int64_t ep, GroupKind group) {
    spec.plan.dp = dp;
    spec.plan.ep = ep;
    return largest_reduction(lower_all(spec)[0], group) / 4;
  };
  EXPECT_EQ(bucket(4, 1, GroupKind::dense_data), 40e6);
  EXPECT_EQ(bucket(40, 1, GroupKind::dense_data), 40e6);
  EXPECT_EQ(bucket(128, 2, GroupKind::dense_data), 128e6);
  EXPECT_EQ(bucket(128, 2, GroupKind::expert_data), 64e6);
  EXPECT_EQ(bucket(128, 8, GroupKind::expert_data), 40e6);
  spec.plan.cp = 2;
  EXPECT_EQ(bucket(128, 2, GroupKind::dense_data), 256e6);
  spec.communication.bucket = 5000000;
  EXPECT_EQ(bucket(128, 2, GroupKind::dense_data), 5e6);
  EXPECT_EQ(bucket(128, 2, GroupKind::expert_data), 5e6);
}

/// Reductions that a backward pass waits for itself.
int settled_reductions(const StageProgram& program, const Instructions& code) {
  std::set<std::uint32_t> slots;
  int settled = 0;
  for (const Instruction& instruction : code) {
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      if (program.calls[call->call].call.kind == CollectiveKind::reduce_scatter)
        slots.insert(call->slot);
    } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
      settled += slots.contains(wait->slot);
    }
  }
  return settled;
}

TEST(Lower, ShardedGradientsAreReducedInEveryMicroBatch) {
  for (const bool overlap : {true, false}) {
    const WorkloadSpec spec = replicated(2, overlap);
    const double parameters = count_parameters(spec.model).total;
    const StageProgram program = lower_all(spec)[0];
    const auto bytes = [&](const Instructions& code, CollectiveKind kind) {
      return bytes_of(program, code, GroupKind::dense_data, kind);
    };
    const ChunkProgram& chunk = program.chunks[0];
    for (const Instructions& backward : {chunk.backward, chunk.last_backward})
      EXPECT_NEAR(bytes(backward, CollectiveKind::reduce_scatter), 4 * parameters, 1);
    EXPECT_EQ(bytes(program.epilogue, CollectiveKind::reduce_scatter), 0);
    EXPECT_NEAR(bytes(step(program, 3), CollectiveKind::all_gather), 2 * parameters, 1);
    EXPECT_EQ(largest_reduction(program, GroupKind::dense_data), 4 * 4000000.0);
    // full buckets, and the rest
    const int buckets = static_cast<int>(std::ceil(parameters / 4e6));
    EXPECT_EQ(settled_reductions(program, chunk.backward), overlap ? 0 : buckets);
  }
}

TEST(Lower, PartitionedParametersAreGatheredTwicePerMicroBatch) {
  for (const bool overlap : {true, false}) {
    const WorkloadSpec spec = replicated(3, overlap);
    const double parameters = count_parameters(spec.model).total;
    const StageProgram program = lower_all(spec)[0];
    const Instructions code = step(program, 3);
    EXPECT_NEAR(bytes_of(program, code, GroupKind::dense_data, CollectiveKind::all_gather),
                3 * 2 * 2 * parameters, 10);
    EXPECT_NEAR(bytes_of(program, code, GroupKind::dense_data, CollectiveKind::reduce_scatter),
                3 * 4 * parameters, 10);
  }
}

TEST(Lower, GradientsTravelInHalfAndAreAddedUpInFull) {
  for (const bool overlap : {true, false}) {
    WorkloadSpec spec = replicated(1, overlap);
    const double parameters = count_parameters(spec.model).total;
    const double before = lower_all(spec)[0].update_flops;
    spec.communication.gradient_exchange = CommunicationSpec::GradientExchange::all_to_all;
    const StageProgram program = lower_all(spec)[0];
    const Instructions code = step(program, 3);
    EXPECT_NEAR(bytes_of(program, code, GroupKind::dense_data, CollectiveKind::all_to_all),
                2 * parameters, 10);
    EXPECT_EQ(bytes_of(program, code, GroupKind::dense_data, CollectiveKind::reduce_scatter), 0);
    EXPECT_NEAR(program.update_flops - before, parameters, 10);
  }
}

TEST(Lower, ExpertsAreReducedOverTheirOwnReplicas) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 8;
  spec.plan.ep = 4;
  spec.communication.gradient_precision = CommunicationSpec::GradientPrecision::bf16;
  const StageProgram program = lower_all(spec)[0];
  const double experts = 7 * 16 * 3.0 * 1024 * 512;
  const Instructions code = step(program, 1);
  EXPECT_NEAR(bytes_of(program, code, GroupKind::expert_data, CollectiveKind::reduce_scatter),
              2 * experts / 4, 1);
  EXPECT_NEAR(bytes_of(program, code, GroupKind::dense_data, CollectiveKind::reduce_scatter),
              2 * (count_parameters(spec.model).total - experts), 1);
}

TEST(Lower, OnlyTheEndsReduceTheTiedEmbedding) {
  WorkloadSpec spec = workload(small_dense());
  spec.model.tied_embeddings = true;
  spec.plan.pp = 4;
  const auto programs = lower_all(spec);
  for (std::size_t stage = 0; stage < programs.size(); ++stage)
    EXPECT_EQ(bytes_of(programs[stage], programs[stage].epilogue, GroupKind::embedding,
                       CollectiveKind::all_reduce),
              stage == 0 || stage == 3 ? 4.0 * 32000 * 1024 : 0);
}

TEST(Lower, ReplicatedGradientsAreReducedOnceWithSequenceParallelism) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 2;
  const auto bytes = [&] {
    const StageProgram program = lower_all(spec)[0];
    return bytes_of(program, program.epilogue, GroupKind::tensor, CollectiveKind::all_reduce);
  };
  EXPECT_EQ(bytes(), 0);
  spec.plan.sequence_parallel = true;
  EXPECT_EQ(bytes(), 4.0 * (8 * 2 + 1) * 1024);  // two norms per layer and the final one
}

TEST(Lower, MtpKeepsACopyOfTheEmbeddingOnTheLastStage) {
  WorkloadSpec spec = workload(small_latent());
  spec.plan.pp = spec.plan.dp = 2;
  spec.plan.zero = 0;
  const auto programs = lower_all(spec);
  double sum = 0;
  for (const StageProgram& program : programs) {
    const Instructions code = step(program, 1);
    sum += bytes_of(program, code, GroupKind::dense_data, CollectiveKind::all_reduce) +
           bytes_of(program, code, GroupKind::expert_data, CollectiveKind::all_reduce);
    EXPECT_EQ(bytes_of(program, code, GroupKind::embedding, CollectiveKind::all_reduce),
              4.0 * 32000 * 1024);
  }
  EXPECT_NEAR(sum, 4 * (count_parameters(spec.model).total + 32000 * 1024), 10);
}

TEST(Lower, FirstForwardWaitsForItsParametersLayerByLayer) {
  const StageProgram program = lower_all(replicated(1, true))[0];
  const ChunkProgram& chunk = program.chunks[0];
  std::vector<std::uint32_t> issued, awaited;
  for (const Instruction& i : program.prologue)
    if (const auto* call = std::get_if<Communicate>(&i)) {
      EXPECT_FALSE(call->after_compute);
      issued.push_back(call->slot);
    }
  bool computed = false, later = false;
  for (const Instruction& i : chunk.first_forward) {
    computed |= std::holds_alternative<Compute>(i);
    if (const auto* wait = std::get_if<Wait>(&i)) {
      awaited.push_back(wait->slot);
      later |= computed;
    }
  }
  EXPECT_EQ(issued, awaited);
  EXPECT_GT(issued.size(), 4u);
  EXPECT_TRUE(later);
  EXPECT_EQ(chunk.forward.size() + awaited.size(), chunk.first_forward.size());
}

TEST(Lower, GradientNormIsAllReducedOverTheWorld) {
  const WorkloadSpec spec = replicated(1, true);
  const StageProgram program = lower_all(spec)[0];
  EXPECT_EQ(bytes_of(program, program.epilogue, GroupKind::world, CollectiveKind::all_reduce), 4);
}

TEST(LowerSynthetic, ChunksAreTheirTimes) {
  SyntheticSpec spec;
  spec.chunks = {{Seconds{1}, Seconds{2}, Seconds{3}}};
  spec.boundary = Bytes{64};
  ParallelPlan plan;
  plan.pp = 2;
  plan.vpp = 2;
  const StageProgram last = lower_synthetic(spec, plan, Stage{1});
  ASSERT_EQ(last.chunks.size(), 2u);
  const auto time = [&](const Instructions& code) {
    return last.segments[std::get<Compute>(code.at(0)).segment].device_time();
  };
  EXPECT_EQ(time(last.chunks[0].forward), 1);
  EXPECT_EQ(time(last.chunks[1].last_backward), 5);
  EXPECT_EQ(last.chunks[0].send_forward, Bytes{64});
  EXPECT_EQ(last.chunks[1].send_forward, Bytes{0});
  EXPECT_EQ(lower_synthetic(spec, plan, Stage{0}).chunks[0].send_backward, Bytes{0});
  EXPECT_TRUE(last.prologue.empty() && last.epilogue.empty());
}

}  // namespace
}  // namespace stepcast
