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
          case GroupKind::dense_shard:
          case GroupKind::dense_replica:
          case GroupKind::expert_shard:
          case GroupKind::expert_replica:
            RC_ASSERT(Placement(plan).group_size(call.group) > 1);
            break;
          case GroupKind::data:
          case GroupKind::pipeline:
          case GroupKind::mirror:
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

/// Device times of the operators of some instructions, outside and inside of an open communication.
std::array<std::vector<double>, 2> times_beside(const StageProgram& program,
                                                const Instructions& code) {
  std::array<std::vector<double>, 2> times{};
  std::set<std::uint32_t> open;
  for (const Instruction& i : code) {
    if (const auto* start = std::get_if<Communicate>(&i)) open.insert(start->slot);
    if (const auto* wait = std::get_if<Wait>(&i)) open.erase(wait->slot);
    if (const auto* run = std::get_if<Compute>(&i))
      for (const OperatorCost& op : program.segments[run->segment].operators())
        times[open.empty() ? 0 : 1].push_back(op.device);
  }
  return times;
}

// A shared expert beside an exchange: products, and an activation, which is none.
TEST(Lower, ProductsBesideACommunicationSlowDown) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = spec.plan.ep = 4;
  spec.moe.overlap = MoeSpec::Overlap::shared_expert;
  ClusterSpec cluster = plain_cluster();
  const LayerTable layers = assign_layers(spec, cluster);
  const auto times = [&] {
    const StageProgram program = lower_stage(spec, layers, cluster, Stage{0});
    return times_beside(program, program.chunks[0].forward);
  };
  const auto alone = times();
  ASSERT_FALSE(alone[1].empty());
  cluster.device.interference_matmul = 1.5;
  const auto beside = times();
  EXPECT_EQ(beside[0], alone[0]);
  ASSERT_EQ(beside[1].size(), alone[1].size());
  std::array<int, 2> kinds{};  // as before, slower
  for (std::size_t i = 0; i < alone[1].size(); ++i) {
    const bool slower = beside[1][i] > alone[1][i];
    EXPECT_NEAR(beside[1][i], (slower ? 1.5 : 1) * alone[1][i], 1e-12) << i;
    ++kinds.at(slower ? 1 : 0);
  }
  EXPECT_GT(kinds[0], 0);
  EXPECT_GT(kinds[1], 0);
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

// Each direction holds the whole model and sees half of the micro-batches.
TEST(Lower, TwoDirectionsShareTheWorkOfOne) {
  const auto flops = [](std::int64_t chunks, ChunkPlacement placement) {
    WorkloadSpec spec = workload(small_dense());
    spec.plan.pp = 2;
    spec.plan.vpp = chunks;
    spec.plan.chunk_placement = placement;
    double model = 0, executed = 0;
    for (const StageProgram& program : lower_all(spec)) {
      model += program.model_flops;
      executed += program.executed_flops - program.update_flops;
    }
    return std::pair{model, executed};
  };
  const auto one = flops(1, ChunkPlacement::loop), two = flops(2, ChunkPlacement::bidirectional);
  EXPECT_NEAR(two.first, one.first, 1e-9 * one.first);
  EXPECT_NEAR(two.second, one.second, 1e-9 * one.second);
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
  spec.plan.layers = ParallelPlan::Layers::even;
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

}  // namespace
}  // namespace stepcast
