#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "lowered_steps.hpp"

namespace stepcast {
namespace {

using namespace lowering;

TEST(Lower, EveryCommunicationIsAwaitedAfterItsIssue) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_workload();
    for (const StageProgram& program : lower_all(spec)) check_slots(program, step(program, 2));
  }));
}

TEST(Lower, OnlyGroupsOfSeveralRanksCommunicate) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_workload();
    const ParallelPlan& plan = spec.plan;
    for (const StageProgram& program : lower_all(spec))
      for (const StageCall& call : program.calls) {
        RC_ASSERT(call.call.bytes > Bytes{0});
        switch (call.group) {
          case GroupKind::tensor:
            RC_ASSERT(plan.tp > 1);
            break;
          case GroupKind::context:
            RC_ASSERT(plan.cp > 1);
            break;
          case GroupKind::expert:
            RC_ASSERT(plan.ep > 1);
            break;
          case GroupKind::expert_inner:
          case GroupKind::expert_outer:
            RC_ASSERT(Placement(plan).group_size(call.group) > 1);
            break;
          case GroupKind::expert_tensor:
            RC_ASSERT(plan.etp > 1);
            break;
          case GroupKind::expert_data:
            RC_ASSERT(plan.edp() > 1);
            break;
          case GroupKind::dense_data:
            RC_ASSERT(plan.dp * plan.cp > 1);
            break;
          case GroupKind::embedding:
            RC_ASSERT(plan.pp > 1);
            break;
          case GroupKind::world:
            RC_ASSERT(plan.world() > 1);
            break;
          default:
            RC_FAIL("not a group of this inventory");
        }
      }
  }));
}

TEST(Lower, CallsKeepTheAlgorithmOfTheirLayer) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = spec.plan.cp = spec.plan.dp = 2;
  int rings = 0;
  const std::vector<StageProgram> programs = lower_all(spec);
  for (const StageCall& call : programs[0].calls) {
    EXPECT_EQ(call.algorithm, call.group == GroupKind::context ? "ring" : "") << call.name;
    rings += call.algorithm == "ring";
  }
  EXPECT_EQ(rings, 2);  // forward and backward
}

/// Device time of the segments of some instructions, inside and outside of an open communication.
std::array<double, 2> times_beside(const StageProgram& program, const Instructions& code) {
  std::array<double, 2> sum{};
  std::set<std::uint32_t> open;
  for (const Instruction& i : code) {
    if (const auto* start = std::get_if<Communicate>(&i)) open.insert(start->slot);
    if (const auto* wait = std::get_if<Wait>(&i)) open.erase(wait->slot);
    if (const auto* run = std::get_if<Compute>(&i))
      sum[open.empty() ? 0 : 1] += program.segments[run->segment].device_time();
  }
  return sum;
}

TEST(Lower, OperatorsBesideACommunicationSlowDown) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = 4;
  spec.moe.overlap = MoeSpec::Overlap::shared_expert;
  ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster.device);
  const auto times = [&] {
    const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
    return times_beside(program, program.chunks[0].forward);
  };
  const auto alone = times();
  ASSERT_GT(alone[1], 0);
  cluster.device.interference_matmul = cluster.device.interference_vector = 1.5;
  const auto beside = times();
  EXPECT_NEAR(beside[0], alone[0], 1e-12);
  EXPECT_NEAR(beside[1], 1.5 * alone[1], 1e-12);
}

TEST(Lower, ModelFlopsOfAllRanksAreThoseOfTheStep) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_workload();
    double sum = 0;
    for (const StageProgram& program : lower_all(spec))
      sum += program.model_flops * static_cast<double>(spec.plan.stage_ranks());
    const double step_flops = model_flops_per_step(spec);
    RC_ASSERT(std::abs(sum - step_flops) <= 1e-9 * step_flops);
  }));
}

/// Without recompute what runs exceeds the model's FLOPs by half of the attention backward and by
/// vector work.
TEST(Lower, ExecutedFlopsAreModelFlopsPlusAttentionBackwardAndVectorWork) {
  const WorkloadSpec spec = workload(known_models::llama3_70b());
  const StageProgram program = lower_all(spec).front();
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const double s = static_cast<double>(spec.training.sequence);
  const double core = static_cast<double>(spec.model.layers * a.heads * a.head_dim) * 2 * s * s *
                      static_cast<double>(spec.training.global_batch);
  const double products = program.model_flops + 0.5 * core;
  EXPECT_GT(program.executed_flops, products);
  EXPECT_LT(program.executed_flops, products * 1.005);
}

TEST(Lower, FullRecomputeExecutesOneMoreForwardOfTheLayers) {
  WorkloadSpec spec = workload(small_dense());
  const double plain = lower_all(spec).front().executed_flops;
  spec.training.recompute = TrainingSpec::Recompute::full;
  const double full = lower_all(spec).front().executed_flops;
  const Passes layer = transformer_layer(context(spec), LayerKind::dense);
  const double expected = total_flops(layer.forward).value() *
                          static_cast<double>(spec.model.layers * spec.training.global_batch);
  EXPECT_NEAR(full - plain, expected, 1e-9 * full);

  spec.training.recompute = TrainingSpec::Recompute::table;
  spec.training.recompute_layers = {{2}};
  EXPECT_NEAR(lower_all(spec).front().executed_flops - plain, expected / 4, 1e-9 * full);
}

TEST(Lower, DeepStageStaysSmall) {
  WorkloadSpec spec = workload(known_models::gpt3_175b());
  spec.plan.tp = 8;
  spec.plan.dp = 8;
  spec.plan.sequence_parallel = true;
  const StageProgram program = lower_all(spec).front();
  EXPECT_LT(program.segments.size(), 64u);
  EXPECT_LT(program.calls.size(), 40u);
  EXPECT_GT(program.chunks[0].forward.size(), 96u * 8u);
}

TEST(Lower, BoundaryIsShardedBySequenceParallelismOnly) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.plan.cp = 2;
  const double whole = 2048.0 / 2 * 1024 * 2;
  auto programs = lower_all(spec);
  EXPECT_EQ(programs[0].chunks[0].send_forward.value(), whole);
  EXPECT_EQ(programs[0].chunks[0].send_backward.value(), 0);
  EXPECT_EQ(programs[1].chunks[1].send_forward.value(), 0);
  EXPECT_EQ(programs[1].chunks[1].send_backward.value(), whole);
  spec.plan.sequence_parallel = true;
  EXPECT_EQ(lower_all(spec)[1].chunks[0].send_forward.value(), whole / 4);
}

// Post-validation: the norm stays in the stage, all else of the epilogue is as before.
TEST(Lower, TheNormOfAStageLeavesOtherStagesAlone) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = spec.plan.pp = spec.plan.dp = 2;
  const auto norms = [](const StageProgram& program) {
    std::vector<GroupKind> groups;
    for (const StageCall& call : program.calls)
      if (call.name == "all_reduce gradient norm") groups.push_back(call.group);
    return groups;
  };
  const auto plain = lower_all(spec);
  spec.post_validation = true;
  const auto within = lower_all(spec);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(norms(plain[s]), std::vector{GroupKind::world});
    EXPECT_EQ(norms(within[s]), (std::vector{GroupKind::dense_data, GroupKind::tensor}));
    EXPECT_EQ(within[s].calls.size(), plain[s].calls.size() + 1);
    EXPECT_EQ(within[s].executed_flops, plain[s].executed_flops);
  }
}

TEST(Lower, TensorRanksHandOverAPartEach) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.tp = 4;
  spec.plan.pp = 2;
  spec.plan.vpp = 2;
  spec.communication.scatter_gather = true;
  const double whole = 2048.0 * 1024 * 2;
  const auto programs = lower_all(spec);
  const auto gathers = [&](const StageProgram& program, const char* name) {
    return std::ranges::count(program.calls, name, &StageCall::name);
  };
  EXPECT_EQ(programs[0].chunks[0].send_forward.value(), whole / 4);
  EXPECT_EQ(programs[1].chunks[1].send_backward.value(), whole / 4);
  EXPECT_EQ(gathers(programs[1], "all_gather received input"), 1);
  EXPECT_EQ(gathers(programs[1], "all_gather received gradient"), 1);
  const auto waits = [](const Instructions& code) {
    return std::ranges::count_if(
        code, [](const Instruction& i) { return std::holds_alternative<Wait>(i); });
  };
  // chunk 0 of stage 0 reads the input itself
  EXPECT_EQ(waits(programs[0].chunks[1].forward), waits(programs[0].chunks[0].forward));
  spec.communication.scatter_gather = false;
  const auto plain = lower_all(spec);
  EXPECT_EQ(waits(programs[1].chunks[0].forward), waits(plain[1].chunks[0].forward) + 1);
  EXPECT_EQ(waits(programs[1].chunks[0].backward), waits(plain[1].chunks[0].backward) + 1);
  EXPECT_EQ(waits(programs[0].chunks[0].forward), waits(plain[0].chunks[0].forward));
}

// ---- host
// ------------------------------------------------------------------------------------------------
OperatorCost first_cost(const StageProgram& program) {
  const auto run =
      std::find_if(program.chunks[0].forward.begin(), program.chunks[0].forward.end(),
                   [](const Instruction& i) { return std::holds_alternative<Compute>(i); });
  return program.segments[std::get<Compute>(*run).segment].operators().front();
}

TEST(Lower, RuntimeDecidesWhatTheHostSpends) {
  WorkloadSpec spec = workload(small_dense());
  spec.runtime.host_speed = 2;
  const OperatorCost eager = first_cost(lower_all(spec)[0]);
  EXPECT_DOUBLE_EQ(eager.main, 4e-6);  // the embedding is vector work: 8 us on a host twice as fast
  EXPECT_DOUBLE_EQ(eager.worker, 0);
  EXPECT_EQ(eager.launch, 0);
  EXPECT_GT(eager.device, 2e-6);  // the launch of vector work runs on the stream

  spec.runtime.dispatch = RuntimeSpec::Dispatch::task_queue;
  const OperatorCost queued = first_cost(lower_all(spec)[0]);
  EXPECT_DOUBLE_EQ(queued.main, 2e-6);
  EXPECT_DOUBLE_EQ(queued.worker, 3e-6);

  spec.runtime.dispatch = RuntimeSpec::Dispatch::graph_sink;
  const StageProgram sunk = lower_all(spec)[0];
  EXPECT_DOUBLE_EQ(first_cost(sunk).main, 0.5e-6);
  const auto& launch = sunk.segments[std::get<Compute>(sunk.prologue.front()).segment];
  EXPECT_EQ(launch.size(), 1u);
  EXPECT_DOUBLE_EQ(launch.operators().front().main, 0.5e-3);
  EXPECT_EQ(launch.device_time(), 0);
}

int count_syncs(const Instructions& code) {
  return static_cast<int>(std::count_if(code.begin(), code.end(), [](const Instruction& i) {
    return std::holds_alternative<HostSync>(i);
  }));
}

TEST(Lower, ExpertSplitsAreReadBackUnlessTheGraphIsSunk) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = 4;
  EXPECT_EQ(count_syncs(lower_all(spec)[0].chunks[0].forward), 7);  // one per MoE layer
  spec.runtime.dispatch = RuntimeSpec::Dispatch::graph_sink;
  const StageProgram sunk = lower_all(spec)[0];
  EXPECT_EQ(count_syncs(step(sunk, 2)), 0);
}

// ---- data parallel
// ---------------------------------------------------------------------------------------
double bytes_of(const StageProgram& program, const Instructions& code, GroupKind group,
                CollectiveKind kind) {
  double sum = 0;
  for (const Instruction& instruction : code)
    if (const auto* call = std::get_if<Communicate>(&instruction)) {
      const StageCall& target = program.calls[call->call];
      if (target.group == group && target.call.kind == kind) sum += target.call.bytes.value();
    }
  return sum;
}

WorkloadSpec replicated(std::int64_t zero, bool overlap) {
  WorkloadSpec spec = workload(small_dense());
  spec.plan.dp = 4;
  spec.plan.zero = zero;
  spec.communication.gradient_overlap = overlap;
  spec.communication.bucket = 4000000;
  return spec;
}

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

/// Bytes of the largest reduction of a group.
double largest_reduction(const StageProgram& program, GroupKind group) {
  Bytes largest{0};
  for (const StageCall& call : program.calls)
    if (call.group == group && call.call.kind == CollectiveKind::reduce_scatter)
      largest = std::max(largest, call.call.bytes);
  return largest.value();
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
